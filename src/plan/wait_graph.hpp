// SPDX-License-Identifier: Apache-2.0
// Everything that any operation of any rank waits for, as one graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/lanes.hpp"

namespace ringcomm::inline v0::plan {

/// A *unit* is an operation, or a group of sends and recvs that is posted together. It has two nodes, start
/// and end. Edges mean "not before": start before end; end of a unit before the start of the next one of its
/// queue; `after`; the k-th offer before the end of its take or pull; the k-th release before the end of its
/// reclaim; a take or pull before the end of the offer kLaneDepth later, which needs its place in the lane;
/// the start of each side of a message before the end of the other.
class WaitGraph {
 public:
  /// `lanes` have passed check(); both outlive this.
  WaitGraph(std::span<const RankPlan> slices, const Lanes& lanes);

  /// Operations that wait for each other in a circle, each for the next; empty if nobody does.
  std::vector<OpRef> find_cycle() const;

  /// The rest needs a graph without a cycle. All nodes, each after those it waits for.
  std::span<const std::int32_t> order() const { return order_; }
  /// Prepares happens_before(): 8 bytes per operation and rank.
  void compute_clocks();
  /// True if `a` has always ended when `b` touches memory. A single operation touches memory once it has
  /// waited; members of a group from their start on, because a transport may use posted buffers at once.
  bool happens_before(OpRef a, OpRef b) const;
  /// Positions in order() between which an operation touches memory.
  std::int32_t access_place(OpRef ref) const { return place_[node_index(access_node(ref))]; }

  std::int32_t unit_of(OpRef ref) const;
  std::span<const OpRef> members(std::int32_t unit) const;
  static std::int32_t start_of(std::int32_t unit) { return 2 * unit; }
  static std::int32_t end_of(std::int32_t unit) { return 2 * unit + 1; }
  static std::int32_t unit_of_node(std::int32_t node) { return node / 2; }
  static bool is_end(std::int32_t node) { return node % 2 == 1; }
  /// The node at which `ref` begins to touch memory.
  std::int32_t access_node(OpRef ref) const;

 private:
  struct Unit {
    std::vector<OpRef> members;
    std::int32_t queue = 0;     ///< 2 * rank + stream
    std::int32_t position = 0;  ///< in its queue
  };
  void add_units(const RankPlan& slice);
  void add_edges_within(const RankPlan& slice);
  void add_edges_between(const Lane& lane);
  void add_edge(std::int32_t from, std::int32_t to) { predecessors_[node_index(to)].push_back(from); }
  void sort();
  OpRef culprit(std::int32_t node) const;
  static std::size_t node_index(std::int32_t node) { return static_cast<std::size_t>(node); }
  const Unit& unit(std::int32_t index) const { return units_[static_cast<std::size_t>(index)]; }

  std::span<const RankPlan> slices_;
  std::vector<Unit> units_;
  std::vector<std::vector<std::int32_t>> unit_of_;       ///< [rank][operation]
  std::vector<std::vector<std::int32_t>> predecessors_;  ///< [node]
  std::vector<std::int32_t> order_;
  std::vector<std::int32_t> place_;    ///< [node] inverse of order_
  std::vector<std::uint32_t> clocks_;  ///< [node][queue] units of that queue that have ended before
};

}  // namespace ringcomm::inline v0::plan
