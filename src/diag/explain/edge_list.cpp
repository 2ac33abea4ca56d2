// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/edge_list.hpp"

#include <map>
#include <tuple>
#include <utility>

#include "diag/explain/rank_list.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {

std::vector<std::string> edge_list(const std::vector<WaitEdge>& edges) {
  using Key = std::tuple<std::string, std::string, std::string>;
  std::vector<std::pair<Key, std::vector<std::string>>> rows;
  std::map<Key, std::size_t> places;
  for (const WaitEdge& edge : edges) {
    const Key key{edge.to, edge.group, edge.op};
    const auto [at, is_new] = places.emplace(key, rows.size());
    if (is_new) rows.push_back({key, {}});
    rows[at->second].second.push_back(edge.from);
  }
  std::vector<std::string> lines;
  for (const auto& [key, from] : rows) {
    const auto& [to, group, op] = key;
    std::string line = concat(ranks_in_words(from, 8), " --> ", ranks_in_words({to}));
    if (!op.empty()) line += concat(" in ", op);
    if (!group.empty()) line += concat(op.empty() ? " in group " : " of group ", group);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace ringcomm::inline v0::diag
