// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "topology/rings/local_search.hpp"
#include "topology/rings/lower_bound.hpp"
#include "topology/rings/ring_search.hpp"

namespace ringcomm::inline v0::topology {
namespace {

void append_nested(const LevelTable& table, std::span<const int> positions, int rank_max,
                   std::vector<int>& order) {
  const auto sub = sub_table(table, positions);
  const auto append = [&](const std::vector<int>& path) {
    for (const int at : path) order.push_back(positions[static_cast<std::size_t>(at)]);
  };
  if (sub.size <= kPathExactMax) return append(best_path(sub, {}, {}));
  for (int rank = rank_max; rank >= 0; --rank) {
    const auto part_of = components(sub, rank);
    const int parts = std::ranges::max(part_of) + 1;
    if (parts == 1) continue;
    for (int part = 0; part < parts; ++part) {
      std::vector<int> members;
      for (std::size_t i = 0; i < part_of.size(); ++i)
        if (part_of[i] == part) members.push_back(positions[i]);
      append_nested(table, members, rank, order);
    }
    return;
  }
  append(nearest_neighbour_ring(sub, 0));
}

}  // namespace

std::vector<int> nested_order(const LevelTable& table) {
  std::vector<int> positions;
  for (int i = 0; i < table.size; ++i) positions.push_back(i);
  std::vector<int> order;
  append_nested(table, positions, table.ranks - 1, order);
  return order;
}

}  // namespace ringcomm::inline v0::topology
