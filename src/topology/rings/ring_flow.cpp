// SPDX-License-Identifier: Apache-2.0
#include "topology/rings/ring_flow.hpp"

#include <algorithm>
#include <cstddef>

namespace ringcomm::inline v0::topology {

std::vector<int> edges_of(const RingGraph& graph, std::span<const int> ring) {
  std::vector<int> edges;
  if (ring.size() < 2) return edges;
  for (std::size_t i = 0; i < ring.size(); ++i)
    edges.push_back((ring[i] * graph.size) + ring[(i + 1) % ring.size()]);
  return edges;
}

std::optional<double> slowest_edge(const RingGraph& graph, std::span<const int> edges) {
  std::optional<double> slowest;
  for (const int edge : edges) {
    const auto own = graph.edges[static_cast<std::size_t>(edge)].gb_per_s;
    if (!own) return {};
    slowest = std::min(slowest.value_or(*own), *own);
  }
  for (const auto& resource : graph.resources) {
    const auto crossing = std::ranges::count_if(
        edges, [&](int edge) { return std::ranges::find(resource.edges, edge) != resource.edges.end(); });
    if (crossing == 0) continue;
    if (!resource.gb_per_s) return {};
    slowest = std::min(slowest.value_or(0), *resource.gb_per_s / static_cast<double>(crossing));
  }
  return slowest;
}

}  // namespace ringcomm::inline v0::topology
