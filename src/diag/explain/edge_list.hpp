// SPDX-License-Identifier: Apache-2.0
// A wait-for graph in words.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/diag/verdict.hpp"

namespace ringcomm::inline v0::diag {

/// "ranks 0, 1 --> rank 2 in all_reduce of group 3": edges with the same end and reason in one line, in the
/// order in which they first come.
std::vector<std::string> edge_list(const std::vector<WaitEdge>& edges);

}  // namespace ringcomm::inline v0::diag
