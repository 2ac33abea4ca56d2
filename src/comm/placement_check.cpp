// SPDX-License-Identifier: Apache-2.0
// Which groups of a parallel grid cross hosts, and what would keep them inside.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "comm/guard.hpp"
#include "core/try.hpp"
#include "ringcomm/comm/parallel_grid.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace comm {
namespace {

std::vector<int> hosts_of(const std::vector<int>& ranks, std::span<const int> host_of_rank) {
  std::set<int> hosts;
  for (const int rank : ranks) hosts.insert(host_of_rank[static_cast<std::size_t>(rank)]);
  return {hosts.begin(), hosts.end()};
}

int crossings(const ParallelGrid& grid, ParallelKind kind, std::span<const int> host_of_rank) {
  return static_cast<int>(std::ranges::count_if(
      grid.groups(kind), [&](const auto& ranks) { return hosts_of(ranks, host_of_rank).size() > 1; }));
}

/// TP groups that cross count before CP groups: TP talks in every layer, and cannot wait.
using Cost = std::pair<int, int>;
Cost cost_of(const ParallelGrid& grid, std::span<const int> host_of_rank) {
  return {crossings(grid, ParallelKind::tp, host_of_rank), crossings(grid, ParallelKind::cp, host_of_rank)};
}

struct Candidate {
  Cost cost;
  std::string order;
};

/// The best order for this placement.
Result<Candidate> best_order(const ParallelSizes& sizes, int world, std::span<const int> host_of_rank) {
  std::vector<std::string> words{"cp", "dp", "pp", "tp"};
  std::optional<Candidate> best;
  do {
    std::string order = concat(words[0], "-", words[1], "-", words[2], "-", words[3]);
    RINGCOMM_TRY_ASSIGN(const auto grid, ParallelGrid::create(sizes, world, order));
    const Cost cost = cost_of(grid, host_of_rank);
    // Of equals the one nearest to the usual: TP first, then CP.
    const bool is_usual = order == "tp-cp-dp-pp";
    if (!best || cost < best->cost || (cost == best->cost && is_usual)) best = Candidate{cost, order};
  } while (std::next_permutation(words.begin(), words.end()));
  return *best;
}

std::string kept(const Candidate& candidate, const ParallelGrid& grid) {
  const std::size_t rings = grid.groups(ParallelKind::cp).size();
  return concat("keeps TP inside hosts (", candidate.cost.first, " of ", grid.groups(ParallelKind::tp).size(),
                " TP groups and ", candidate.cost.second, " of ", rings, " CP groups cross)");
}

std::string why_none(const ParallelGrid& grid, std::span<const int> host_of_rank) {
  std::map<int, int> sizes;
  for (const int host : host_of_rank) ++sizes[host];
  int largest = 0;
  for (const auto& [host, size] : sizes) largest = std::max(largest, size);
  const int tp = grid.sizes().tp;
  if (tp > largest) return concat("none: TP ", tp, " does not fit hosts of ", largest, " ranks");
  for (const auto& [host, size] : sizes) {
    if (size % tp != 0)
      return concat("none: the ", size, " ranks of host ", host, " cannot be cut into TP groups of ", tp);
  }
  return concat("none: CP ", grid.sizes().cp, " with TP ", tp, " does not fit hosts of ", largest,
                " ranks (TP is inside hosts; rings cross)");
}

Result<std::string> suggest(const ParallelGrid& grid, std::span<const int> host_of_rank) {
  const Cost now = cost_of(grid, host_of_rank);
  if (now == Cost{0, 0}) return std::string("none needed: TP and CP are inside hosts");
  RINGCOMM_TRY_ASSIGN(const auto ordered, best_order(grid.sizes(), grid.world(), host_of_rank));
  std::vector<int> by_host(host_of_rank.begin(), host_of_rank.end());
  std::ranges::sort(by_host);
  RINGCOMM_TRY_ASSIGN(const auto numbered, best_order(grid.sizes(), grid.world(), by_host));
  if (std::min(ordered.cost, numbered.cost) >= now || std::min(ordered.cost, numbered.cost).first > 0)
    return why_none(grid, host_of_rank);
  if (ordered.cost <= numbered.cost) return concat("order \"", ordered.order, "\" ", kept(ordered, grid));
  return concat("number the ranks host by host, with order \"", numbered.order, "\": that ",
                kept(numbered, grid));
}

std::string joined(const std::vector<int>& numbers) {
  std::string list;
  for (const int number : numbers) list += concat(list.empty() ? "" : " ", number);
  return list;
}

}  // namespace
}  // namespace comm

Result<PlacementReport> check_placement(const ParallelGrid& grid, std::span<const int> host_of_rank) {
  return comm::guard("check_placement", [&]() -> Result<PlacementReport> {
    if (host_of_rank.size() != static_cast<std::size_t>(grid.world())) {
      return Status::invalid_argument(
          concat("check_placement: hosts of ", host_of_rank.size(), " ranks for a grid of ", grid.world()));
    }
    PlacementReport report;
    for (const ParallelKind kind : kParallelKinds) {
      if (kind == ParallelKind::sp) continue;
      for (std::size_t group = 0; group < grid.groups(kind).size(); ++group) {
        const std::vector<int>& ranks = grid.groups(kind)[group];
        std::vector<int> hosts = comm::hosts_of(ranks, host_of_rank);
        if (hosts.size() > 1)
          report.crossings.push_back({kind, static_cast<int>(group), ranks, std::move(hosts)});
      }
    }
    RINGCOMM_TRY_ASSIGN(report.suggestion, comm::suggest(grid, host_of_rank));
    return report;
  });
}

std::string PlacementReport::to_text() const {
  std::string text;
  for (const CrossingGroup& crossing : crossings) {
    text += concat(name_of(crossing.kind), " group ", crossing.group, " crosses hosts ",
                   comm::joined(crossing.hosts), ": ranks ", comm::joined(crossing.ranks), "\n");
  }
  return text + concat("suggestion: ", suggestion, "\n");
}

}  // namespace ringcomm::inline v0
