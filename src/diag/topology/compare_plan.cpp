// SPDX-License-Identifier: Apache-2.0
// Configured against best (spec 2.8).
#include <algorithm>
#include <map>
#include <set>

#include "diag/topology/job.hpp"
#include "diag/topology/lookup.hpp"
#include "diag/topology/plan_sources.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace diag {
namespace {

constexpr double kWithin = 0.95;  // spec 2.8: a plan within 5 % of the best is ok

std::string level_name(const MachineGraph& graph, int level) {
  const auto position = static_cast<std::size_t>(level);
  return level >= 0 && position < graph.level_names.size() ? graph.level_names[position] : "?";
}

int worst_level(const RingGraph& graph, const std::vector<int>& order) {
  int worst = -1;
  for (std::size_t i = 0; order.size() > 1 && i < order.size(); ++i) {
    worst = std::max(worst, graph.at(order[i], order[(i + 1) % order.size()]).level);
  }
  return worst;
}

/// Slower: by the slowest edge's bandwidth where both are known, else by the worst level and its counts.
bool is_slower(const RingOrder& a, const RingOrder& b) {
  if (a.bottleneck_gb_per_s && b.bottleneck_gb_per_s && *a.bottleneck_gb_per_s != *b.bottleneck_gb_per_s)
    return *a.bottleneck_gb_per_s < *b.bottleneck_gb_per_s;
  return a.level_counts > b.level_counts;
}

/// Directed links that a job's channels use: each one link of every arc that it crosses.
int links_used(const RingGraph& graph, const std::vector<std::vector<int>>& orders) {
  std::map<std::pair<int, int>, int> times;
  for (const auto& order : orders) {
    for (std::size_t i = 0; order.size() > 1 && i < order.size(); ++i)
      ++times[{order[i], order[(i + 1) % order.size()]}];
  }
  int used = 0;
  for (const auto& [arc, count] : times) used += std::min(count, graph.at(arc.first, arc.second).links);
  return used;
}

/// Links of one ring in both directions: as many of every arc as the narrowest one with links has.
int links_of_ring(const RingGraph& graph, const std::vector<int>& order) {
  std::set<std::pair<int, int>> arcs;  // the two directions of two devices are the same arcs
  for (std::size_t i = 0; order.size() > 1 && i < order.size(); ++i) {
    const int next = order[(i + 1) % order.size()];
    arcs.insert({{order[i], next}, {next, order[i]}});
  }
  int width = 0;
  int count = 0;
  for (const auto& [from, to] : arcs) {
    const int links = graph.at(from, to).links;
    if (links <= 0) continue;
    ++count;
    width = width == 0 ? links : std::min(width, links);
  }
  return width * count;
}

Bandwidth bandwidth_of(const TopologyCase& input, int from, int to) {
  const auto& devices = input.rings.graph.devices;
  const Path* path =
      path_between(input, devices[static_cast<std::size_t>(from)], devices[static_cast<std::size_t>(to)]);
  return path ? path->bandwidth : Bandwidth();
}

int successor(const std::vector<int>& order, int from) {
  const auto found = std::ranges::find(order, from);
  if (found == order.end()) return from;
  return found + 1 == order.end() ? order.front() : *(found + 1);
}

EdgeComparison compare_edge(const TopologyCase& input, int from, int to, int best_to) {
  const MachineGraph& graph = input.rings.graph;
  const auto device = [&](int position) { return graph.devices[static_cast<std::size_t>(position)]; };
  EdgeComparison edge;
  edge.from = device(from);
  edge.to_now = device(to);
  edge.to_best = device(best_to);
  edge.level_now = level_name(graph, graph.graph.at(from, to).level);
  edge.now = bandwidth_of(input, from, to);
  if (best_to == from) return edge;
  edge.level_best = level_name(graph, graph.graph.at(from, best_to).level);
  edge.best = bandwidth_of(input, from, best_to);
  if (graph.graph.at(from, to).level <= graph.graph.at(from, best_to).level) return edge;
  const Path* path = path_between(input, edge.from, edge.to_now);
  edge.cause = concat(edge.level_now, " instead of ", edge.level_best,
                      path && !path->reason.empty() ? concat(": ", path->reason) : std::string());
  return edge;
}

std::string order_text(const std::vector<int>& numbers) {
  std::vector<std::string> words;
  for (const int number : numbers) words.push_back(concat(number));
  return joined(words, ",");
}

/// Ranks follow CUDA_VISIBLE_DEVICES; ringcomm's own order has a variable of its own.
std::string variable_for(const TopologyCase& input, PlanKind kind) {
  const Machine& machine = input.evidence.machine;
  const auto& devices = input.rings.graph.devices;
  const std::vector<int>& best = input.rings.best.order;
  std::vector<int> indices;
  for (const int position : best) {
    const DeviceRef device = devices[static_cast<std::size_t>(position)];
    if (device.kind == PartKind::gpu)
      indices.push_back(machine.gpus[static_cast<std::size_t>(device.position)].index);
  }
  const bool is_ours =
      kind == PlanKind::ringcomm || indices.size() != best.size() || machine.hosts.size() > 1;
  if (!is_ours) return concat("CUDA_VISIBLE_DEVICES=", order_text(indices));
  const std::vector<int> vertices = vertices_in_rank_order(input);
  std::vector<int> ranks;
  for (const int position : best)
    ranks.push_back(static_cast<int>(std::ranges::find(vertices, position) - vertices.begin()));
  return concat("RINGCOMM_RING_ORDER=", order_text(ranks));
}

void compare(const TopologyCase& input, const PlanSource& plan, PlanComparison& result) {
  const RingGraph& graph = input.rings.graph.graph;
  const RingOrder& best = input.rings.best;
  const std::vector<int>* slowest = nullptr;
  RingOrder judged;
  for (const auto& order : plan.orders) {
    auto now = judge_ring(graph, order);
    if (!now.is_ok()) {
      result.is_known = false;
      result.source = concat(plan.source, " does not fit these devices: ", now.status().message());
      return;
    }
    if (slowest == nullptr || is_slower(now.value(), judged)) {
      slowest = &order;
      judged = std::move(now).value();
    }
  }
  if (slowest == nullptr) return;
  result.order = *slowest;
  for (std::size_t i = 0; slowest->size() > 1 && i < slowest->size(); ++i) {
    const int from = (*slowest)[i];
    result.edges.push_back(
        compare_edge(input, from, (*slowest)[(i + 1) % slowest->size()], successor(best.order, from)));
  }
  const int level_now = worst_level(graph, *slowest);
  const int level_best = worst_level(graph, best.order);
  result.slowest_now = level_now < 0 ? "" : level_name(input.rings.graph, level_now);
  result.slowest_best = level_best < 0 ? "" : level_name(input.rings.graph, level_best);
  // The same is counted on both sides: all channels against the best set, or one ring against the best one.
  const bool is_set = plan.orders.size() > 1;
  result.links_used_now = is_set ? links_used(graph, plan.orders) : links_of_ring(graph, *slowest);
  result.links_used_best = is_set ? input.rings.rings.links_used : links_of_ring(graph, best.order);
  result.links_total = input.rings.rings.links_total;
  result.is_ok = judged.bottleneck_gb_per_s && best.bottleneck_gb_per_s
                     ? *judged.bottleneck_gb_per_s >= *best.bottleneck_gb_per_s * kWithin
                     : level_now <= level_best;
  if (plan.has_all_rings && result.links_total > 0 &&
      result.links_used_now < result.links_used_best * kWithin)
    result.is_ok = false;
  if (!result.is_ok) result.variable = variable_for(input, plan.kind);
}

}  // namespace
}  // namespace diag

PlanComparison compare_plan(const TopologyCase& input, std::optional<std::vector<int>> configured) {
  PlanComparison result;
  result.nics_used = static_cast<int>(diag::nets_used(input).size());
  result.nics_usable = static_cast<int>(diag::usable_nics(input).size());
  if (!input.rings_status.is_ok() || input.rings.graph.devices.empty() || input.rings.best.order.empty()) {
    result.source = input.rings_status.is_ok() ? std::string("no devices to order in the evidence")
                                               : std::string(input.rings_status.message());
    return result;
  }
  const diag::PlanSource plan = diag::find_plan(input, std::move(configured));
  result.source = plan.source;
  result.is_known = plan.is_known;
  diag::compare(input, plan, result);
  return result;
}

}  // namespace ringcomm::inline v0
