// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/machine_rings.hpp"

namespace ringcomm::inline v0 {
namespace {

/// Where a rank's first CPU is. A package or node of -1 is unknown.
struct Home {
  int package = -1;
  int memory_node = -1;
  friend auto operator<=>(const Home&, const Home&) = default;
};

std::vector<Home> homes_of(const Machine& machine, const std::vector<Placement>& placements) {
  std::map<int, Home> home_of_cpu;
  for (const auto& core : machine.cores) {
    for (const int cpu : core.cpus)
      home_of_cpu[cpu] = {.package = core.package, .memory_node = core.memory_node};
  }
  std::vector<Home> homes;
  for (const auto& placement : placements) {
    const auto home = placement.cpus.empty() ? home_of_cpu.end() : home_of_cpu.find(placement.cpus.front());
    homes.push_back(home == home_of_cpu.end() ? Home{} : home->second);
  }
  return homes;
}

PathClass class_between(const Home& a, const Home& b) {
  if (a.package < 0 || b.package < 0) return PathClass::unknown;
  if (a.package != b.package) return PathClass::sys;
  return a.memory_node == b.memory_node ? PathClass::loc : PathClass::node;
}

constexpr std::array kClasses{PathClass::loc, PathClass::node, PathClass::sys, PathClass::unknown};

/// The measured times decide where there are all three, else the classes' own order.
std::map<PathClass, int> levels_of(const CostModel& costs) {
  std::vector<std::tuple<double, PathClass>> times;
  for (const auto path_class : {PathClass::loc, PathClass::node, PathClass::sys}) {
    const auto& cost = costs.of(path_class);
    const bool is_timed = costs.is_measured_between(PartKind::numa_node) && cost.source == Source::measured &&
                          cost.alpha_us && cost.gb_per_s;
    if (!is_timed) break;
    times.emplace_back(*cost.alpha_us + (static_cast<double>(kRingLevelBytes) / (*cost.gb_per_s * 1e3)),
                       path_class);
  }
  std::map<PathClass, int> levels;
  for (const auto path_class : kClasses) levels[path_class] = static_cast<int>(levels.size());
  if (times.size() != 3) return levels;
  std::ranges::sort(times);
  for (std::size_t i = 0; i < times.size(); ++i) levels[std::get<1>(times[i])] = static_cast<int>(i);
  return levels;
}

RingGraph graph_of(const std::vector<Home>& homes, const CostModel& costs) {
  RingGraph graph;
  graph.size = static_cast<int>(homes.size());
  graph.edges.resize(homes.size() * homes.size());
  const auto levels = levels_of(costs);
  for (int from = 0; from < graph.size; ++from) {
    for (int to = 0; to < graph.size; ++to) {
      const auto path_class =
          class_between(homes[static_cast<std::size_t>(from)], homes[static_cast<std::size_t>(to)]);
      graph.at(from, to).level = levels.at(path_class);
    }
  }
  std::vector<std::size_t> order(homes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return homes[a] < homes[b]; });
  graph.keys.resize(homes.size());
  for (std::size_t i = 0; i < order.size(); ++i) graph.keys[order[i]] = static_cast<std::int64_t>(i);
  return graph;
}

std::string explain(const std::vector<Home>& homes, const std::vector<int>& ring) {
  std::map<PathClass, int> edges;
  for (std::size_t i = 0; i < ring.size() && ring.size() > 1; ++i) {
    ++edges[class_between(homes[static_cast<std::size_t>(ring[i])],
                          homes[static_cast<std::size_t>(ring[(i + 1) % ring.size()])])];
  }
  const std::set<Home> nodes(homes.begin(), homes.end());
  if (nodes.contains(Home{}))
    return concat(ring.size(), " ranks in rank order: the core of a rank is unknown");
  std::string text = concat(ring.size(), " ranks on ", nodes.size(), " memory nodes");
  for (const auto& [path_class, count] : edges) text = concat(text, ", ", count, " ", name_of(path_class));
  return ring.size() > 1 ? concat(text, " edges") : text;
}

}  // namespace

HostRanks order_host_ranks(const Machine& machine, const CostModel& costs,
                           std::vector<Placement> placements) {
  HostRanks ranks;
  ranks.placements = std::move(placements);
  ranks.ring.resize(ranks.placements.size());
  std::iota(ranks.ring.begin(), ranks.ring.end(), 0);
  const auto homes = homes_of(machine, ranks.placements);
  const bool is_known = std::ranges::none_of(homes, [](const Home& home) { return home == Home{}; });
  if (is_known && ranks.ring.size() > 1) {
    // Sizes that fit together: plan_ring has nothing to object to.
    if (auto ring = plan_ring(graph_of(homes, costs)); ring.is_ok()) ranks.ring = std::move(ring->order);
  }
  ranks.explanation = explain(homes, ranks.ring);
  return ranks;
}

HostRanks plan_host_ranks(const Machine& machine, const CostModel& costs, int local_ranks) {
  return order_host_ranks(machine, costs, spread_ranks(machine.cores, local_ranks));
}

}  // namespace ringcomm::inline v0
