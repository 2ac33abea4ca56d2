// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/try.hpp"
#include "topology/rings/held_karp.hpp"
#include "topology/rings/ring_search.hpp"

namespace ringcomm::inline v0 {

Result<RingOrder> plan_ring(const RingGraph& graph, const RingOptions& options) {
  RINGCOMM_TRY(topology::check_graph(graph));
  const auto table = topology::make_level_table(graph);
  topology::FoundRing found{.ring = {}, .is_exact = true};
  if (table.size <= std::min(std::max(options.exact_max, 2), topology::kHeldKarpMax))
    found.ring = topology::best_ring(table);
  else
    found = topology::search_ring(table, options.starts);
  for (int& position : found.ring) position = table.vertex[static_cast<std::size_t>(position)];
  RINGCOMM_TRY_ASSIGN(auto order, judge_ring(graph, std::move(found.ring)));
  order.is_exact = found.is_exact;
  return order;
}

}  // namespace ringcomm::inline v0
