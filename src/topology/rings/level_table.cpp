// SPDX-License-Identifier: Apache-2.0
#include "topology/rings/level_table.hpp"

#include <algorithm>
#include <numeric>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::topology {
namespace {

/// A cost vector has one entry for each level: this bounds it.
constexpr int kLevelMax = 65535;
/// size * size must stay within an int.
constexpr int kSizeMax = 32768;

Status check_resources(const RingGraph& graph) {
  for (const auto& resource : graph.resources)
    for (const int edge : resource.edges)
      if (edge < 0 || edge >= graph.size * graph.size)
        return Status::invalid_argument(concat("resource ", resource.name, " is crossed by edge ", edge,
                                               ", but a graph of ", graph.size, " vertices has edges 0 to ",
                                               (graph.size * graph.size) - 1));
  return {};
}

}  // namespace

Status check_graph(const RingGraph& graph) {
  if (graph.size < 1 || graph.size > kSizeMax)
    return Status::invalid_argument(
        concat("a ring of ", graph.size, " vertices (wanted 1 to ", kSizeMax, ")"));
  const auto size = static_cast<std::size_t>(graph.size);
  if (graph.edges.size() != size * size)
    return Status::invalid_argument(concat("a ring graph of ", size, " vertices has ", graph.edges.size(),
                                           " edges (wanted ", size * size, ")"));
  if (!graph.keys.empty()) {
    if (graph.keys.size() != size)
      return Status::invalid_argument(
          concat("a ring graph of ", size, " vertices has ", graph.keys.size(), " keys"));
    auto keys = graph.keys;
    std::ranges::sort(keys);
    if (const auto twice = std::ranges::adjacent_find(keys); twice != keys.end())
      return Status::invalid_argument(concat("two vertices of a ring graph have the key ", *twice));
  }
  for (int from = 0; from < graph.size; ++from)
    for (int to = 0; to < graph.size; ++to) {
      if (from == to) continue;
      const RingEdge& edge = graph.at(from, to);
      if (edge.level < 0 || edge.level > kLevelMax || edge.links < 0)
        return Status::invalid_argument(concat("edge ", from, "-", to, " of a ring graph has level ",
                                               edge.level, " and ", edge.links, " links (wanted level 0 to ",
                                               kLevelMax, ", links from 0)"));
    }
  return check_resources(graph);
}

LevelTable make_level_table(const RingGraph& graph) {
  const auto size = static_cast<std::size_t>(graph.size);
  LevelTable table{
      .size = graph.size, .vertex = std::vector<int>(size), .rank = std::vector<int>(size * size)};
  std::iota(table.vertex.begin(), table.vertex.end(), 0);
  if (!graph.keys.empty())
    std::ranges::sort(table.vertex, {}, [&](int v) { return graph.keys[static_cast<std::size_t>(v)]; });
  std::vector<int> levels;
  for (int from = 0; from < graph.size; ++from)
    for (int to = 0; to < graph.size; ++to)
      if (from != to) levels.push_back(graph.at(from, to).level);
  std::ranges::sort(levels);
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  table.ranks = static_cast<int>(levels.size());
  for (int from = 0; from < graph.size; ++from)
    for (int to = 0; to < graph.size; ++to) {
      if (from == to) continue;
      const int level =
          graph.at(table.vertex[static_cast<std::size_t>(from)], table.vertex[static_cast<std::size_t>(to)])
              .level;
      table.rank[static_cast<std::size_t>((from * graph.size) + to)] =
          static_cast<int>(std::ranges::lower_bound(levels, level) - levels.begin());
    }
  for (int from = 0; from < graph.size; ++from)
    for (int to = 0; to < from; ++to)
      if (table.at(from, to) != table.at(to, from)) table.is_symmetric = false;
  return table;
}

LevelTable sub_table(const LevelTable& table, std::span<const int> positions) {
  const std::size_t size = positions.size();
  LevelTable sub{.size = static_cast<int>(size),
                 .ranks = table.ranks,
                 .is_symmetric = table.is_symmetric,
                 .vertex = {positions.begin(), positions.end()},
                 .rank = std::vector<int>(size * size)};
  for (std::size_t from = 0; from < size; ++from)
    for (std::size_t to = 0; to < size; ++to)
      sub.rank[(from * size) + to] = table.at(positions[from], positions[to]);
  return sub;
}

std::vector<int> rank_counts(const LevelTable& table, std::span<const int> ring) {
  std::vector<int> counts(static_cast<std::size_t>(table.ranks));
  if (ring.size() < 2) return counts;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const int rank = table.at(ring[i], ring[(i + 1) % ring.size()]);
    ++counts[static_cast<std::size_t>(table.ranks - 1 - rank)];
  }
  return counts;
}

std::vector<int> normalised(const LevelTable& table, std::vector<int> ring) {
  std::rotate(ring.begin(), std::ranges::find(ring, 0), ring.end());
  if (table.is_symmetric && ring.size() > 2 && ring[1] > ring.back())
    std::reverse(ring.begin() + 1, ring.end());
  return ring;
}

}  // namespace ringcomm::inline v0::topology
