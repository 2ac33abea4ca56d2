// SPDX-License-Identifier: Apache-2.0
// Circles among the calls that never end.
#pragma once

#include <vector>

#include "plan/schedule/call_run.hpp"

namespace ringcomm::inline v0::plan {

/// Nodes of a short circle, each waiting for the next and the last for the first; empty: there is none.
std::vector<std::int32_t> find_wait_cycle(const CallGraph& graph, const CallRun& run);

}  // namespace ringcomm::inline v0::plan
