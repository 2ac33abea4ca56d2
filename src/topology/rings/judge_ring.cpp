// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/rings/level_table.hpp"
#include "topology/rings/ring_flow.hpp"

namespace ringcomm::inline v0 {
namespace {

Status check_permutation(int size, const std::vector<int>& order) {
  if (order.size() != static_cast<std::size_t>(size))
    return Status::invalid_argument(
        concat("a ring order of ", order.size(), " vertices for a graph of ", size));
  std::vector<bool> seen(order.size());
  for (const int v : order) {
    if (v < 0 || v >= size)
      return Status::invalid_argument(concat("vertex ", v, " in a ring order (wanted 0 to ", size - 1, ")"));
    if (seen[static_cast<std::size_t>(v)])
      return Status::invalid_argument(concat("vertex ", v, " comes twice in a ring order"));
    seen[static_cast<std::size_t>(v)] = true;
  }
  return {};
}

int level_max(const RingGraph& graph) {
  int level = 0;
  for (int from = 0; from < graph.size; ++from)
    for (int to = 0; to < graph.size; ++to)
      if (from != to) level = std::max(level, graph.at(from, to).level);
  return level;
}

int first_vertex(const RingGraph& graph) {
  return graph.keys.empty() ? 0 : static_cast<int>(std::ranges::min_element(graph.keys) - graph.keys.begin());
}

}  // namespace

Result<RingOrder> judge_ring(const RingGraph& graph, std::vector<int> order) {
  RINGCOMM_TRY(topology::check_graph(graph));
  RINGCOMM_TRY(check_permutation(graph.size, order));
  std::rotate(order.begin(), std::ranges::find(order, first_vertex(graph)), order.end());
  const int worst = level_max(graph);
  RingOrder judged{.order = std::move(order),
                   .level_counts = std::vector<int>(static_cast<std::size_t>(worst) + 1)};
  const auto edges = topology::edges_of(graph, judged.order);
  for (const int edge : edges)
    ++judged
          .level_counts[static_cast<std::size_t>(worst - graph.edges[static_cast<std::size_t>(edge)].level)];
  judged.bottleneck_gb_per_s = topology::slowest_edge(graph, edges);
  return judged;
}

}  // namespace ringcomm::inline v0
