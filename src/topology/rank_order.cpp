// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/topology/rank_order.hpp"

#include <algorithm>

#include "core/try.hpp"
#include "ringcomm/topology/ring_order.hpp"

namespace ringcomm::inline v0 {

Result<std::vector<int>> ring_over(std::span<const RankPlace> places) {
  // Ranks of one place are neighbours in every best ring, so places are ordered, not ranks.
  std::vector<RankPlace> spots;
  std::vector<std::vector<int>> ranks_at;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const auto known = std::ranges::find(spots, places[rank]);
    const auto spot = static_cast<std::size_t>(known - spots.begin());
    if (known == spots.end()) {
      spots.push_back(places[rank]);
      ranks_at.emplace_back();
    }
    ranks_at[spot].push_back(static_cast<int>(rank));
  }
  RingGraph graph;
  graph.size = static_cast<int>(spots.size());
  graph.edges.resize(spots.size() * spots.size());
  for (int from = 0; from < graph.size; ++from) {
    for (int to = 0; to < graph.size; ++to) {
      const RankPlace& a = spots[static_cast<std::size_t>(from)];
      const RankPlace& b = spots[static_cast<std::size_t>(to)];
      graph.at(from, to).level = a.host != b.host ? 2 : a.package != b.package ? 1 : 0;
    }
  }
  RINGCOMM_TRY_ASSIGN(const RingOrder best, plan_ring(graph));
  std::vector<int> order;
  for (const int spot : best.order) {
    const auto& ranks = ranks_at[static_cast<std::size_t>(spot)];
    order.insert(order.end(), ranks.begin(), ranks.end());
  }
  return order;
}

}  // namespace ringcomm::inline v0
