// SPDX-License-Identifier: Apache-2.0
// Who follows whom. Works on plain numbers: matrix positions, cost levels, bandwidths; knows no machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ringcomm/core/result.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

struct RingEdge {
  int level = 0;  ///< 0 is best; orders are compared by their counts of the worst level first
  std::optional<double> gb_per_s{};  ///< one direction; absent: unknown
  int links = 0;  ///< parallel links that one ring direction may use up (NVLink count); 0: not divisible
};
/// One direction of something that several edges cross. A full-duplex link is two resources: one crossed by
/// the edges that leave, one by those that enter. What both directions share (a half-duplex bus, one host
/// bridge) is one resource that lists the edges of both.
struct RingResource {
  std::string name{};
  std::optional<double> gb_per_s{};
  std::vector<int> edges{};  ///< from * size + to
};
struct RingGraph {
  int size = 0;
  std::vector<RingEdge> edges{};  ///< [size * size]; the diagonal is ignored
  std::vector<RingResource> resources{};
  /// Of equal orders the one that visits vertices in the order of these keys is taken (so that neighbours
  /// share a NUMA node, and the result does not depend on numbering): [size], distinct. Empty: the positions.
  std::vector<std::int64_t> keys{};

  RingEdge& at(int from, int to) { return edges[static_cast<std::size_t>((from * size) + to)]; }
  const RingEdge& at(int from, int to) const { return edges[static_cast<std::size_t>((from * size) + to)]; }
};

struct RingOrder {
  std::vector<int> order{};         ///< a permutation; begins at the vertex with the smallest key
  std::vector<int> level_counts{};  ///< edges of each level, worst level first: the cost vector
  /// Slowest edge after sharing: min over edges of min(own, resource / crossing edges); absent if any is
  /// unknown.
  std::optional<double> bottleneck_gb_per_s{};
  double share = 1;  ///< of the data that this ring carries
  bool both_directions = false;
  bool is_exact = false;  ///< no better order exists
};

struct RingOptions {
  int exact_max = 16;  ///< Held-Karp up to this size; above nearest neighbour, 2-opt and Or-opt
  int starts = 0;      ///< of the heuristic; 0: 48 or size, whichever is larger
};

/// The best single ring. size 1 and 2 are legal. Of the best rings the one that comes first in key order, up
/// to exact_max (at most 20). Above, is_exact is true where the counts of levels meet a lower bound; on rings
/// of one machine type per host, and on trees, they do. Errors: invalid_argument (sizes that do not fit
/// together, a level above 65535). Deterministic: the same on every rank. Cost: 2^n * n^2 for each 12 levels,
/// up to n = 16 about 50 ms and 6 MB; above about starts * n^2.
Result<RingOrder> plan_ring(const RingGraph& graph, const RingOptions& options = {});

/// The cost vector of a given order, turned to begin at the smallest key, for "configured against best".
/// invalid_argument: not a permutation. is_exact stays false: compare with plan_ring().
Result<RingOrder> judge_ring(const RingGraph& graph, std::vector<int> order);

struct RingSet {
  std::vector<RingOrder> rings{};  ///< each with its share of the data (proportional to its bandwidth)
  int links_used = 0;              ///< directed, of those that have a count
  int links_total = 0;
  bool is_directed =
      false;  ///< rings are arcs used once (a complete graph's decomposition), not two-way rings
  std::string explanation{};  ///< why these, in one sentence
};
/// Link-disjoint rings: no link is used twice in one direction. Found by search: the set that carries most
/// (by links where a bandwidth is unknown), of equal ones one whose rings repeat least; the best single
/// ring is among them where that costs nothing. One ring when the best single ring has an edge without links
/// of its own
/// (`links` 0: switch, PCIe, network), or when more rings would cross one resource. Where the search was cut
/// short `explanation` says so. A ring with several of an edge's links has that part of the edge's bandwidth.
/// Deterministic. Cost: plan_ring, and at most 3 million search steps (about 0.1 s).
Result<RingSet> plan_disjoint_rings(const RingGraph& graph, const RingOptions& options = {});

/// All rings that use only edges of at most `level`, up to `limit`, in key order. Each once; one-way edges
/// give one-way rings. Empty for a graph that does not fit together. The search ends after 20 million steps,
/// so on large sparse graphs some may be missing.
std::vector<std::vector<int>> rings_within(const RingGraph& graph, int level, std::size_t limit = 1000);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
