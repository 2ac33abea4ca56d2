// SPDX-License-Identifier: Apache-2.0
#include "cluster_text.hpp"

#include <algorithm>
#include <optional>

#include "labels.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

constexpr std::size_t kRingsShown = 8;

/// NICs of one name are one rail. Without a name: the NIC's place among those of its host.
std::string rail_name(const Machine& machine, int nic) {
  const auto position = static_cast<std::size_t>(nic);
  const Nic& found = machine.nics[position];
  if (!found.name.empty()) return found.name;
  const auto before = std::count_if(machine.nics.begin(), machine.nics.begin() + nic,
                                    [&](const Nic& other) { return other.host == found.host; });
  return concat("#", before);
}

/// Of all hosts, so that a host without one has a gap there; mlx5_2 before mlx5_10.
std::vector<std::string> rails_of(const TopologyCase& input) {
  std::vector<std::string> names;
  for (const NicChoice& choice : input.rings.nics) {
    if (choice.nic) names.push_back(rail_name(input.evidence.machine, *choice.nic));
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

/// The part of the whole graph that lies on one host, and the rail of each GPU there.
ClusterHost host_part(const TopologyCase& input, const std::vector<std::string>& rails, int host) {
  const Machine& machine = input.evidence.machine;
  const MachineGraph& graph = input.rings.graph;
  std::vector<int> members;
  for (std::size_t i = 0; i < graph.devices.size(); ++i) {
    const DeviceRef device = graph.devices[i];
    if (device.kind == PartKind::gpu && machine.gpus[static_cast<std::size_t>(device.position)].host == host)
      members.push_back(static_cast<int>(i));
  }
  ClusterHost out;
  const Host& described = machine.hosts[static_cast<std::size_t>(host)];
  out.name = described.name.empty() ? concat("host", host) : described.name;
  out.local.size = static_cast<int>(members.size());
  for (const int from : members) {
    for (const int to : members) out.local.edges.push_back(graph.graph.at(from, to));
  }
  for (std::size_t i = 0; i < members.size() && !graph.graph.keys.empty(); ++i)
    out.local.keys.push_back(graph.graph.keys[static_cast<std::size_t>(members[i])]);
  std::optional<double> rate;
  for (const int member : members) {
    const int gpu = graph.devices[static_cast<std::size_t>(member)].position;
    int rail = -1;
    for (const NicChoice& choice : input.rings.nics) {
      if (choice.gpu != gpu || !choice.nic) continue;
      rail = static_cast<int>(std::find(rails.begin(), rails.end(), rail_name(machine, *choice.nic)) -
                              rails.begin());
      const auto& nic_rate = choice.bandwidth.gb_per_s;
      if (nic_rate && (!rate || *nic_rate < *rate)) rate = nic_rate;
    }
    out.nic_of_gpu.push_back(rail);
  }
  out.nic_gb_per_s = rate.value_or(0);
  return out;
}

}  // namespace

std::string cluster_text(const TopologyCase& input, Rails rails, const TextStyle& style) {
  const std::size_t hosts = input.evidence.machine.hosts.size();
  if (hosts < 2)
    return "Rings over hosts\n  The evidence describes one host; --rails is for several (ringcomm-plan plans "
           "for more).\n";
  const std::vector<std::string> rail_names = rails_of(input);
  ClusterRequest request;
  request.rails = rails;
  for (std::size_t i = 0; i < hosts; ++i)
    request.hosts.push_back(host_part(input, rail_names, static_cast<int>(i)));
  const auto plan = plan_cluster_rings(request);
  if (!plan.is_ok()) return concat("Rings over hosts\n", wrap("  ", plan.status().message()));
  std::string out = concat("Rings over hosts: ", name_of(plan->scheme), "\n");
  out += wrap("  ", plan->explanation);
  out += concat(
      "  NICs used ", plan->nics_used, " of ", plan->nics_total, ", hops across rails ",
      plan->cross_rail_hops,
      plan->network_step_gb_per_s > 0
          ? concat(", ", speed(std::optional<double>(plan->network_step_gb_per_s)), " over a host boundary")
          : std::string(),
      "\n");
  for (std::size_t i = 0; i < plan->rings.size(); ++i) {
    if (i == kRingsShown && !style.verbose)
      return concat(out, "    and ", plan->rings.size() - i, " more (--verbose)\n");
    std::string order;
    for (const int rank : plan->rings[i].order) order += concat(order.empty() ? "[" : " ", rank);
    out += wrap("    ", order + "]");
  }
  return out;
}

}  // namespace ringcomm::doctor
