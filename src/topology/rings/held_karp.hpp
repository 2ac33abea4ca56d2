// SPDX-License-Identifier: Apache-2.0
// Best rings and paths of small graphs, by dynamic programming over sets of vertices (Held and Karp 1962).
#pragma once

#include <vector>

#include "topology/rings/level_table.hpp"

namespace ringcomm::inline v0::topology {

/// Above this the table would need more than 130 MB.
inline constexpr int kHeldKarpMax = 20;

/// Of the rings with the least cost vector the lexicographically smallest one that begins at position 0.
/// Exact for any number of levels. Time 2^n * n^2 / 16 for every 15 levels (n = 16), memory 2^n * n * 6
/// bytes.
std::vector<int> best_ring(const LevelTable& table);

}  // namespace ringcomm::inline v0::topology
