// SPDX-License-Identifier: Apache-2.0
#include "topology/rings/ring_search.hpp"

#include <algorithm>

#include "topology/rings/held_karp.hpp"
#include "topology/rings/local_search.hpp"
#include "topology/rings/lower_bound.hpp"

namespace ringcomm::inline v0::topology {
namespace {

/// Spec 2.6: the optimum in 197 of 200 random graphs of 12 vertices.
constexpr int kStartsMin = 48;
/// Paths are searched once for every pair of ends.
constexpr int kPathStarts = 8;

/// A position 0 beside the others closes a path to a ring; its edges to forbidden ends are worse than any.
LevelTable closed_by_one_more(const LevelTable& table, std::optional<int> first, std::optional<int> last) {
  const int size = table.size + 1;
  LevelTable closed{.size = size,
                    .ranks = table.ranks + 1,
                    .is_symmetric = false,
                    .rank = std::vector<int>(static_cast<std::size_t>(size * size))};
  for (int from = 0; from < table.size; ++from) {
    for (int to = 0; to < table.size; ++to)
      closed.rank[static_cast<std::size_t>(((from + 1) * size) + to + 1)] = table.at(from, to);
    if (first.value_or(from) != from) closed.rank[static_cast<std::size_t>(from + 1)] = table.ranks;
    if (last.value_or(from) != from) closed.rank[static_cast<std::size_t>((from + 1) * size)] = table.ranks;
  }
  return closed;
}

/// A search may leave a forbidden end where the levels give it no way out.
void set_ends(std::vector<int>& path, std::optional<int> first, std::optional<int> last) {
  if (first) std::rotate(path.begin(), std::ranges::find(path, *first), std::ranges::find(path, *first) + 1);
  if (last) std::rotate(std::ranges::find(path, *last), std::ranges::find(path, *last) + 1, path.end());
}

}  // namespace

FoundRing search_ring(const LevelTable& table, int starts) {
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
                                         : shaken(best, static_cast<unsigned>(start)));
  return {normalised(table, std::move(best)), proven};
}

std::vector<int> best_path(const LevelTable& table, std::optional<int> first, std::optional<int> last) {
  if (table.size == 1) return {0};
  const auto closed = closed_by_one_more(table, first, last);
  auto ring = table.size <= kPathExactMax ? best_ring(closed) : search_ring(closed, kPathStarts).ring;
  ring.erase(ring.begin());
  for (int& position : ring) --position;
  set_ends(ring, first, last);
  return ring;
}

}  // namespace ringcomm::inline v0::topology
