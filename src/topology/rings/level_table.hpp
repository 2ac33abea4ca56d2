// SPDX-License-Identifier: Apache-2.0
// A ring graph as its planners see it: vertices in key order, levels numbered without gaps.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ringcomm/topology/ring_order.hpp"

namespace ringcomm::inline v0::topology {

/// A "position" is a vertex's place in key order; position 0 has the smallest key.
struct LevelTable {
  int size = 0;
  int ranks = 0;              ///< distinct levels that occur
  bool is_symmetric = true;   ///< every edge has the level of its reverse
  std::vector<int> vertex{};  ///< [size] position -> vertex of the graph
  std::vector<int> rank{};    ///< [size * size] of positions; 0 is the best level that occurs

  int at(int from, int to) const { return rank[static_cast<std::size_t>((from * size) + to)]; }
};

Status check_graph(const RingGraph& graph);
/// Only of a graph that passes check_graph().
LevelTable make_level_table(const RingGraph& graph);
/// The table of some positions alone, in the given order; ranks keep their numbers.
LevelTable sub_table(const LevelTable& table, std::span<const int> positions);
/// Edges of each rank of a ring of positions, worst rank first.
std::vector<int> rank_counts(const LevelTable& table, std::span<const int> ring);
/// Turned to begin at position 0; with symmetric levels in the direction whose second vertex comes first.
std::vector<int> normalised(const LevelTable& table, std::vector<int> ring);

}  // namespace ringcomm::inline v0::topology
