// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/rings/level_table.hpp"
#include "topology/rings/ring_flow.hpp"
#include "topology/rings/ring_packing.hpp"
#include "topology/rings/two_way.hpp"

namespace ringcomm::inline v0 {
namespace {

using topology::LevelTable;
using topology::PackingTask;
using topology::RingUse;

/// Of one plan, about 0.1 s; K8 takes 125 steps, the cube mesh about as many.
constexpr long long kStepsMax = 3'000'000;
constexpr long long kStepsPerTry = 300'000;
/// Of one pair; more than any GPU has in all (NVLink 5 and 6: 18 and 36). Rings are laid one by one and to
/// this depth.
constexpr int kLinksMax = 64;

struct Packing {
  RingUse use = RingUse::two_way;
  std::vector<std::vector<int>> rings{};  ///< of positions; a ring with several links comes several times
  bool was_cut = false;
};

std::vector<int> link_counts(const RingGraph& graph, const LevelTable& table, RingUse use) {
  std::vector<int> links(table.rank.size());
  for (int from = 0; from < table.size; ++from)
    for (int to = 0; to < table.size; ++to) {
      if (from == to) continue;
      const int a = table.vertex[static_cast<std::size_t>(from)];
      const int b = table.vertex[static_cast<std::size_t>(to)];
      const int count = use == RingUse::one_way ? graph.at(a, b).links
                                                : std::min(graph.at(a, b).links, graph.at(b, a).links);
      links[static_cast<std::size_t>((from * table.size) + to)] = std::min(count, kLinksMax);
    }
  return links;
}

/// No packing has more rings: each takes an exit and an entry of every vertex, a two-way ring two of both.
int rings_max(const std::vector<int>& links, int size, RingUse use) {
  int least = -1;
  for (int v = 0; v < size; ++v) {
    int out = 0;
    int in = 0;
    for (int w = 0; w < size; ++w) {
      out += links[static_cast<std::size_t>((v * size) + w)];
      in += links[static_cast<std::size_t>((w * size) + v)];
    }
    const int ends = std::min(out, in);
    least = least < 0 ? ends : std::min(least, ends);
  }
  return use == RingUse::two_way ? least / 2 : least;
}

/// The largest packing of more than `beaten` rings, of those one whose rings repeat least (even shares).
void pack_more(PackingTask task, int beaten, long long& steps_left, Packing& best) {
  const auto first = task.first;
  for (int rings = rings_max(task.links, task.size, task.use); rings > beaten; --rings)
    for (int repeat = 1; repeat <= rings; ++repeat)
      for (const bool with_first : {true, false}) {
        if (with_first && first.empty()) continue;
        if (steps_left <= 0) {
          best.was_cut = true;
          return;
        }
        task.rings = rings;
        task.repeat_max = repeat;
        task.first = with_first ? first : std::vector<int>{};
        const long long before = std::min(kStepsPerTry, steps_left);
        long long steps = before;
        auto found = pack_rings(task, steps);
        steps_left -= before - steps;
        best.was_cut = best.was_cut || (!found && steps <= 0);
        if (!found) continue;
        best.use = task.use;
        best.rings = std::move(*found);
        return;
      }
}

/// `alone`: links of the narrowest edge of the best single ring, all of which one ring can use.
Packing pack(const RingGraph& graph, const LevelTable& table, const std::vector<int>& best_ring, int alone) {
  Packing packing;
  if (table.size < 3) return packing;
  packing.was_cut =
      std::ranges::any_of(graph.edges, [](const RingEdge& edge) { return edge.links > kLinksMax; });
  long long steps_left = kStepsMax;
  PackingTask task{.size = table.size,
                   .links = link_counts(graph, table, RingUse::two_way),
                   .use = RingUse::two_way,
                   .first = normalised(table, best_ring)};
  if (task.first[1] > task.first.back()) std::reverse(task.first.begin() + 1, task.first.end());
  const bool fits = std::ranges::all_of(topology::edges_of({.size = table.size}, task.first), [&](int edge) {
    return task.links[static_cast<std::size_t>(edge)] > 0;
  });
  if (!fits) task.first.clear();
  pack_more(task, fits ? alone : 0, steps_left, packing);
  const int two_way = std::max(fits ? alone : 0, static_cast<int>(packing.rings.size()));
  task.links = link_counts(graph, table, RingUse::one_way);
  task.use = RingUse::one_way;
  task.first.clear();
  pack_more(task, std::max(2 * two_way, alone), steps_left, packing);
  return packing;
}

int link_sum(const RingGraph& graph, const std::vector<int>& edges) {
  int sum = 0;
  for (const int edge : edges) sum += graph.edges[static_cast<std::size_t>(edge)].links;
  return sum;
}

void give_shares(RingSet& set, const std::vector<int>& units) {
  double sum = 0;
  bool is_known = true;
  for (const auto& ring : set.rings) {
    const auto total = topology::total_gb_per_s(ring);
    is_known = is_known && total.value_or(0) > 0;
    sum += total.value_or(0);
  }
  if (!is_known) {
    sum = 0;
    for (const int count : units) sum += count;
  }
  for (std::size_t i = 0; i < set.rings.size(); ++i)
    set.rings[i].share = (is_known ? *topology::total_gb_per_s(set.rings[i]) : units[i]) / sum;
}

/// A ring that has `units` links of every edge it uses.
Result<RingOrder> ring_of_links(const RingGraph& graph, std::vector<int> order, int units, RingUse use) {
  RINGCOMM_TRY_ASSIGN(auto ring, judge_ring(graph, std::move(order)));
  ring.both_directions = use == RingUse::two_way;
  auto edges = topology::edges_of(graph, ring.order);
  if (ring.both_directions) {
    const auto back = topology::edges_of(graph, std::vector<int>(ring.order.rbegin(), ring.order.rend()));
    edges.insert(edges.end(), back.begin(), back.end());
  }
  ring.bottleneck_gb_per_s.reset();
  for (const int at : edges) {
    const RingEdge& edge = graph.edges[static_cast<std::size_t>(at)];
    if (!edge.gb_per_s) {
      ring.bottleneck_gb_per_s.reset();
      break;
    }
    const double mine = *edge.gb_per_s * units / edge.links;
    ring.bottleneck_gb_per_s = std::min(ring.bottleneck_gb_per_s.value_or(mine), mine);
  }
  return ring;
}

Result<RingSet> set_of(const RingGraph& graph, const LevelTable& table, const Packing& packing,
                       const RingOrder& best) {
  std::map<std::vector<int>, int> repeats;
  for (const auto& ring : packing.rings) ++repeats[ring];
  RingSet set{.is_directed = packing.use == RingUse::one_way};
  std::vector<int> units;
  for (const auto& [positions, count] : repeats) {
    std::vector<int> order;
    for (const int position : positions) order.push_back(table.vertex[static_cast<std::size_t>(position)]);
    RINGCOMM_TRY_ASSIGN(auto ring, ring_of_links(graph, std::move(order), count, packing.use));
    ring.is_exact = best.is_exact && ring.level_counts == best.level_counts;
    set.links_used += count * graph.size * (set.is_directed ? 1 : 2);
    set.rings.push_back(std::move(ring));
    units.push_back(count);
  }
  give_shares(set, units);
  return set;
}

bool share_a_resource(const RingGraph& graph, const RingSet& set) {
  for (const auto& resource : graph.resources) {
    int rings = 0;
    for (const auto& ring : set.rings) {
      auto edges = topology::edges_of(graph, ring.order);
      if (ring.both_directions) {
        const auto back = topology::edges_of(graph, std::vector<int>(ring.order.rbegin(), ring.order.rend()));
        edges.insert(edges.end(), back.begin(), back.end());
      }
      rings += std::ranges::find_first_of(resource.edges, edges) != resource.edges.end() ? 1 : 0;
    }
    if (rings > 1) return true;
  }
  return false;
}

/// Rings that carry more than `alone` does; unknown bandwidths are compared by links.
bool is_faster(const RingSet& set, const RingSet& alone) {
  double sum = 0;
  const auto single = topology::total_gb_per_s(alone.rings.front());
  for (const auto& ring : set.rings) {
    const auto total = topology::total_gb_per_s(ring);
    if (!total || !single) return set.links_used > alone.links_used;
    sum += *total;
  }
  return sum > *single * 1.001;
}

RingSet single_set(const RingGraph& graph, RingOrder best) {
  topology::use_both_directions(graph, best);
  RingSet set;
  set.links_used = link_sum(graph, topology::edges_of(graph, best.order));
  if (best.both_directions)
    set.links_used +=
        link_sum(graph, topology::edges_of(graph, std::vector<int>(best.order.rbegin(), best.order.rend())));
  set.rings.push_back(std::move(best));
  return set;
}

std::string direction_words(const RingOrder& ring) {
  if (ring.order.size() < 3) return "";
  return ring.both_directions ? " in both directions"
                              : " in one direction (the way back shares a resource or is worse)";
}

}  // namespace

Result<RingSet> plan_disjoint_rings(const RingGraph& graph, const RingOptions& options) {
  RINGCOMM_TRY_ASSIGN(const auto best, plan_ring(graph, options));
  const auto table = topology::make_level_table(graph);
  RingSet alone = single_set(graph, best);
  for (int from = 0; from < graph.size; ++from)
    for (int to = 0; to < graph.size; ++to)
      if (from != to) alone.links_total += graph.at(from, to).links;
  const auto edges = topology::edges_of(graph, best.order);
  int narrowest = graph.size > 1 ? graph.edges[static_cast<std::size_t>(edges.front())].links : 0;
  for (const int edge : edges)
    narrowest = std::min(narrowest, graph.edges[static_cast<std::size_t>(edge)].links);
  if (narrowest == 0) {
    alone.explanation =
        concat("one ring", direction_words(alone.rings.front()),
               ": it has an edge without links of its own, so a second ring would only share it");
    return alone;
  }
  std::vector<int> positions(table.vertex.size());
  for (std::size_t i = 0; i < positions.size(); ++i)
    positions[i] = static_cast<int>(std::ranges::find(table.vertex, best.order[i]) - table.vertex.begin());
  const auto packing = pack(graph, table, positions, narrowest);
  const std::string_view cut =
      packing.was_cut ? "; the search was cut short, so there may be better sets" : "";
  if (!packing.rings.empty()) {
    RINGCOMM_TRY_ASSIGN(auto set, set_of(graph, table, packing, best));
    set.links_total = alone.links_total;
    if (share_a_resource(graph, set)) {
      alone.explanation = concat("one ring", direction_words(alone.rings.front()),
                                 ": more rings would cross one shared resource together", cut);
      return alone;
    }
    if (is_faster(set, alone)) {
      set.explanation =
          concat(set.rings.size(), set.is_directed ? " one-way rings" : " rings in both directions", " use ",
                 set.links_used, " of ", set.links_total,
                 " links (each direction counted), none twice; one ring alone uses ", alone.links_used, cut);
      return set;
    }
  }
  alone.explanation =
      concat("one ring", direction_words(alone.rings.front()), ": it uses ", alone.links_used, " of ",
             alone.links_total, " links (each direction counted), and no set of rings carries more", cut);
  return alone;
}

}  // namespace ringcomm::inline v0
