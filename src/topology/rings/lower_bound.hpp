// SPDX-License-Identifier: Apache-2.0
// What no ring can do better: proof that a heuristic's ring is optimal.
#pragma once

#include <vector>

#include "topology/rings/level_table.hpp"

namespace ringcomm::inline v0::topology {

/// Component number of each position in the graph of edges (either direction) of rank <= `rank_max`, numbered
/// by first position.
std::vector<int> components(const LevelTable& table, int rank_max);

/// True when every cumulative count "edges of rank >= r" is the least possible: then no ring is better. False
/// says nothing. Every part that the better edges leave apart is entered once; inside it a path cover needs
/// one path for every two missing edge ends. Cost: ranks * size^2.
bool is_proven_best(const LevelTable& table, const std::vector<int>& counts);

}  // namespace ringcomm::inline v0::topology
