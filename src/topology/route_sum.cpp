// SPDX-License-Identifier: Apache-2.0
#include "topology/route_sum.hpp"

#include <algorithm>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::topology {

int SharedLinks::position(const std::string& name, const Bandwidth& bandwidth) {
  const auto [place, is_new] = positions_.try_emplace(name, static_cast<int>(shared_.size()));
  if (is_new) shared_.push_back({.name = name, .bandwidth = bandwidth});
  return place->second;
}

void RouteSum::cross(const Bandwidth& bandwidth, const std::string& name) {
  is_empty_ = false;
  if (!bandwidth.gb_per_s) {
    if (unknown_name_.empty()) unknown_name_ = name;
    return;
  }
  if (least_.gb_per_s && *least_.gb_per_s <= *bandwidth.gb_per_s) return;
  least_ = bandwidth;
  least_name_ = name;
}

void RouteSum::finish(Path& path) const {
  if (is_empty_) return;
  if (unknown_name_.empty()) {
    path.bandwidth = least_;
    path.reason = concat(path.reason, "; slowest: ", least_name_);
    return;
  }
  path.bandwidth = {};
  path.reason = concat(path.reason, "; bandwidth of ", unknown_name_, " unknown");
  if (least_.gb_per_s) path.reason = concat(path.reason, ", slowest known: ", least_name_);
}

namespace {

/// Of the node's package; of a source that knows the CPUs' types only, the slowest type of the host.
std::optional<double> cpu_rate(const Machine& machine, const CostModel& costs, const NumaNode& node) {
  std::optional<double> least;
  for (std::size_t i = 0; i < machine.packages.size(); ++i) {
    const bool is_wanted =
        node.package ? static_cast<std::size_t>(*node.package) == i : machine.packages[i].host == node.host;
    if (!is_wanted) continue;
    const auto rate = costs.cpu_gb_per_s(machine.packages[i]);
    if (!rate) return std::nullopt;
    if (!least || *rate < *least) least = rate;
  }
  return least;
}

}  // namespace

Bandwidth between_nodes(const Machine& machine, const CostModel& costs, int node_a, int node_b) {
  const auto a = cpu_rate(machine, costs, machine.numa_nodes[static_cast<std::size_t>(node_a)]);
  const auto b = cpu_rate(machine, costs, machine.numa_nodes[static_cast<std::size_t>(node_b)]);
  if (!a || !b) return {};
  return {.gb_per_s = std::min(*a, *b), .source = Source::table};
}

}  // namespace ringcomm::inline v0::topology
