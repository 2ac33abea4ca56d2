// SPDX-License-Identifier: Apache-2.0
#include "topology/rings/two_way.hpp"

#include <algorithm>

#include "topology/rings/ring_flow.hpp"

namespace ringcomm::inline v0::topology {
namespace {

std::vector<int> levels_of(const RingGraph& graph, const std::vector<int>& edges) {
  std::vector<int> levels;
  for (const int edge : edges) levels.push_back(graph.edges[static_cast<std::size_t>(edge)].level);
  std::ranges::sort(levels);
  return levels;
}

bool crosses(const RingResource& resource, const std::vector<int>& edges) {
  return std::ranges::find_first_of(resource.edges, edges) != resource.edges.end();
}

}  // namespace

void use_both_directions(const RingGraph& graph, RingOrder& ring) {
  // A ring of two uses its edge both ways as it is.
  if (ring.order.size() < 3) return;
  const auto ahead = edges_of(graph, ring.order);
  const auto back = edges_of(graph, std::vector<int>(ring.order.rbegin(), ring.order.rend()));
  if (levels_of(graph, ahead) != levels_of(graph, back)) return;
  auto all = ahead;
  all.insert(all.end(), back.begin(), back.end());
  const auto one = slowest_edge(graph, ahead);
  const auto both = slowest_edge(graph, all);
  if (one && both) {
    // A hair's breadth is no gain: two directions over one full resource come out equal up to rounding.
    if (2 * *both <= *one * 1.001) return;
  } else {
    const auto shared = [&](const RingResource& r) { return crosses(r, ahead) && crosses(r, back); };
    if (std::ranges::any_of(graph.resources, shared)) return;
  }
  ring.both_directions = true;
  ring.bottleneck_gb_per_s = both;
}

std::optional<double> total_gb_per_s(const RingOrder& ring) {
  if (!ring.bottleneck_gb_per_s) return {};
  return *ring.bottleneck_gb_per_s * (ring.both_directions ? 2 : 1);
}

}  // namespace ringcomm::inline v0::topology
