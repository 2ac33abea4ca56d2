// SPDX-License-Identifier: Apache-2.0
// Runs a schedule: every rank goes as far as it can.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "plan/schedule/call_graph.hpp"

namespace ringcomm::inline v0::plan {

struct CallRun {
  std::vector<std::uint8_t> is_done;  ///< [node]
  bool is_complete = false;
  /// The first two calls that meet and differ; the run stops there.
  std::optional<std::pair<CallRef, CallRef>> mismatch{};
};
CallRun run_calls(const CallSchedule& schedule, const CallGraph& graph);

}  // namespace ringcomm::inline v0::plan
