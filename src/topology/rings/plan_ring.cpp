// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/try.hpp"
#include "topology/rings/held_karp.hpp"
#include "topology/rings/local_search.hpp"
#include "topology/rings/lower_bound.hpp"

namespace ringcomm::inline v0 {
namespace {

using topology::LevelTable;

/// starts = 0: at least this many (spec 2.6: the optimum in 197 of 200 random graphs).
constexpr int kStartsMin = 48;

struct Found {
  std::vector<int> ring{};
  bool is_exact = false;
};

Found search(const LevelTable& table, int starts) {
  std::vector<int> best;
  std::vector<int> best_counts;
  const auto consider = [&](std::vector<int> ring) {
    improve(table, ring);
    auto counts = rank_counts(table, ring);
    if (!best.empty() && counts >= best_counts) return false;
    best = std::move(ring);
    best_counts = std::move(counts);
    return is_proven_best(table, best_counts);
  };
  bool proven = consider(nested_order(table));
  if (starts <= 0) starts = std::max(kStartsMin, table.size);
  for (int start = 0; start < starts && !proven; ++start)
    proven = consider(start < table.size ? nearest_neighbour_ring(table, start)
                                         : topology::shaken(best, static_cast<unsigned>(start)));
  return {normalised(table, std::move(best)), proven};
}

}  // namespace

Result<RingOrder> plan_ring(const RingGraph& graph, const RingOptions& options) {
  RINGCOMM_TRY(topology::check_graph(graph));
  const auto table = topology::make_level_table(graph);
  Found found{.ring = {}, .is_exact = true};
  if (table.size <= std::min(std::max(options.exact_max, 2), topology::kHeldKarpMax))
    found.ring = best_ring(table);
  else
    found = search(table, options.starts);
  for (int& position : found.ring) position = table.vertex[static_cast<std::size_t>(position)];
  RINGCOMM_TRY_ASSIGN(auto order, judge_ring(graph, std::move(found.ring)));
  order.is_exact = found.is_exact;
  return order;
}

}  // namespace ringcomm::inline v0
