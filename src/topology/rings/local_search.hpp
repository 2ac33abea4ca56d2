// SPDX-License-Identifier: Apache-2.0
// Good rings of graphs too large for an exact search.
#pragma once

#include <vector>

#include "topology/rings/level_table.hpp"

namespace ringcomm::inline v0::topology {

/// Every part that the better edges hold together stays in one piece, from the worst level down; parts small
/// enough are laid by best_path(). Optimal for tree-like levels.
std::vector<int> nested_order(const LevelTable& table);
/// Always on along the best edge left, the smaller position of equal ones.
std::vector<int> nearest_neighbour_ring(const LevelTable& table, int first);
/// Until no 2-opt move (symmetric levels only) and no Or-opt move makes the cost vector less.
void improve(const LevelTable& table, std::vector<int>& ring);
/// Four pieces in another order (a double bridge), which `improve` cannot undo; `turn` picks the cuts.
std::vector<int> shaken(std::vector<int> ring, unsigned turn);

}  // namespace ringcomm::inline v0::topology
