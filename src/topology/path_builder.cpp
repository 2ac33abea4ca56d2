// SPDX-License-Identifier: Apache-2.0
#include "topology/path_builder.hpp"

#include <algorithm>

#include "ringcomm/core/text.hpp"
#include "topology/detour.hpp"
#include "topology/readers/reader.hpp"

namespace ringcomm::inline v0::topology {
namespace {

std::string count_text(const LinkBundle& links) {
  const std::string word = links.kind == LinkKind::xgmi  ? "xGMI"
                           : links.kind == LinkKind::c2c ? "C2C"
                                                         : "NVLink";
  return links.count ? concat(*links.count, " ", word, "s") : concat(word, "s, count unknown");
}

/// The fastest NIC of a host; unknown when a NIC has no rate or there is none.
std::optional<double> network_gb_per_s(const Machine& machine, int host) {
  std::optional<double> best;
  for (const auto& nic : machine.nics) {
    if (nic.host != host) continue;
    const auto rate = port_gb_per_s(nic);
    if (!rate) return std::nullopt;
    if (!best || *rate > *best) best = rate;
  }
  return best;
}

/// What a source says of a link that tells neither speed per lane nor width.
std::optional<double> only_stated(const PciLink& link) {
  return link.gt_per_s && link.width ? std::nullopt : link.stated_gb_per_s;
}

/// [Machine::pci] the most that a device below each bridge states; 0: nothing.
std::vector<double> most_stated_below(const Machine& machine) {
  std::vector<double> most(machine.pci.size(), 0);
  for (const auto& device : machine.pci) {
    const double stated = only_stated(device.link).value_or(0);
    std::size_t depth = 0;
    for (auto above = device.parent; above && depth < kDepthMax; ++depth) {
      if (*above < 0 || static_cast<std::size_t>(*above) >= most.size()) break;
      double& known = most[static_cast<std::size_t>(*above)];
      known = std::max(known, stated);
      above = machine.pci[static_cast<std::size_t>(*above)].parent;
    }
  }
  return most;
}

/// An idle link runs at Gen1 to save power: what the device reaches counts, with the lanes that it has now.
/// The port above is crossed too and sets its own bound.
PciLink under_load(const PciDevice& device) {
  PciLink link = device.link;
  if (device.slot.gt_per_s && link.gt_per_s && *link.gt_per_s < *device.slot.gt_per_s)
    link.gt_per_s = device.slot.gt_per_s;
  return link;
}

}  // namespace

PathBuilder::PathBuilder(const Machine& machine, const CostModel& costs, std::vector<SharedLink>& shared)
    : machine_(machine),
      costs_(costs),
      shared_(shared),
      links_(collect_links(machine, costs)),
      stated_below_(most_stated_below(machine)) {}

std::string PathBuilder::on_host(int host) const {
  return machine_.hosts.size() > 1 ? concat("host", host, "/") : std::string();
}

const LinkBundle* PathBuilder::cpu_link(const DevicePlace& place) const {
  if (place.device.kind != PartKind::gpu) return nullptr;
  const auto& cpu = links_[static_cast<std::size_t>(place.device.position)].cpu;
  return cpu ? &*cpu : nullptr;
}

Bandwidth PathBuilder::stated_nvlinks(int gpu_a, int gpu_b, int count) const {
  const auto a = bandwidth_of_one_link(machine_.gpus[static_cast<std::size_t>(gpu_a)], costs_);
  const auto b = bandwidth_of_one_link(machine_.gpus[static_cast<std::size_t>(gpu_b)], costs_);
  if (!a.gb_per_s || !b.gb_per_s) return {};
  return {.gb_per_s = std::min(*a.gb_per_s, *b.gb_per_s) * count, .source = std::min(a.source, b.source)};
}

std::optional<Path> PathBuilder::over_nvlink(int gpu_a, int gpu_b) const {
  const auto found = connection(machine_, links_, gpu_a, gpu_b);
  if (!found) return std::nullopt;
  Path path{.path_class = PathClass::nvl, .nvlinks = found->links.count, .is_switched = found->is_switched};
  path.bandwidth = found->links.bandwidth;
  path.reason = concat(count_text(found->links), found->is_switched ? " over switches" : " directly");
  if (!path.bandwidth.gb_per_s) path.reason += "; bandwidth of a link unknown";
  return path;
}

void PathBuilder::cross_pci(const std::vector<int>& links, bool is_upwards, Path& path, RouteSum& sum) {
  for (const int position : links) {
    const auto& device = machine_.pci[static_cast<std::size_t>(position)];
    const PciLink link = under_load(device);
    auto rate = costs_.pcie_gb_per_s(link);
    std::string name = concat("PCIe link of ", on_host(device.host), device.id.to_text());
    if (link.gt_per_s && link.width) name = concat(name, " (", *link.gt_per_s, " GT/s x", *link.width, ")");
    // hwloc reads a bridge's speed as it is now, and the link of an idle GPU runs at Gen1.
    const auto stated = only_stated(device.link);
    const double below = stated_below_[static_cast<std::size_t>(position)];
    if (device.is_bridge && stated && *stated < below) {
      rate.reset();
      name = concat(name, " (", *stated, " GB/s stated, ", below, " below it: perhaps an idle link)");
    }
    const Bandwidth bandwidth{.gb_per_s = rate, .source = rate ? Source::evidence : Source::unknown};
    sum.cross(bandwidth, name);
    if (!device.is_bridge) continue;
    const std::string uplink = concat("PCIe uplink ", on_host(device.host), device.id.to_text());
    path.crosses.push_back(shared_.position(concat(uplink, is_upwards ? " up" : " down"), bandwidth));
  }
}

void PathBuilder::cross_socket(const DevicePlace& from, const DevicePlace& to, Path& path, RouteSum& sum) {
  const std::string name = concat(on_host(from.host), "NUMA", *from.numa_id, "->NUMA", *to.numa_id);
  const Bandwidth bandwidth =
      from.node && to.node ? between_nodes(machine_, costs_, *from.node, *to.node) : Bandwidth{};
  sum.cross(bandwidth, name);
  path.crosses.push_back(shared_.position(name, bandwidth));
}

Path PathBuilder::over_pci(const DevicePlace& from, const DevicePlace& to) {
  PciRoute route = pci_route(machine_, from, to);
  Path path{.path_class = route.path_class};
  path.reason = std::move(route.reason);
  if (route.path_class == PathClass::unknown) return path;
  RouteSum sum;
  const bool meets_below_cpu = route.path_class == PathClass::pix || route.path_class == PathClass::pxb;
  const LinkBundle* from_cpu = meets_below_cpu ? nullptr : cpu_link(from);
  const LinkBundle* to_cpu = meets_below_cpu ? nullptr : cpu_link(to);
  if (from_cpu != nullptr) {
    sum.cross(from_cpu->bandwidth, concat(count_text(*from_cpu), " of ", name_of(machine_, from.device)));
  } else if (from.chain.empty()) {
    sum.cross({}, concat("the PCIe link of ", name_of(machine_, from.device)));
  } else {
    cross_pci(route.up, true, path, sum);
  }
  if (path.path_class == PathClass::sys) cross_socket(from, to, path, sum);
  if (to_cpu != nullptr) {
    sum.cross(to_cpu->bandwidth, concat(count_text(*to_cpu), " of ", name_of(machine_, to.device)));
  } else if (to.chain.empty()) {
    sum.cross({}, concat("the PCIe link of ", name_of(machine_, to.device)));
  } else {
    std::reverse(route.down.begin(), route.down.end());
    cross_pci(route.down, false, path, sum);
  }
  const bool is_one_c2c = (from_cpu != nullptr && from_cpu->kind == LinkKind::c2c) !=
                          (to_cpu != nullptr && to_cpu->kind == LinkKind::c2c);
  if (is_one_c2c && path.path_class != PathClass::sys) path.path_class = PathClass::p2c;
  sum.finish(path);
  return path;
}

Path PathBuilder::to_cpu(const DevicePlace& device, const DevicePlace& node, bool is_upwards) {
  Path path;
  if (!device.numa_id) {
    path.reason = concat("NUMA node of ", name_of(machine_, device.device), " unknown");
    return path;
  }
  const LinkBundle* link = cpu_link(device);
  RouteSum sum;
  path.path_class = PathClass::phb;
  path.reason = "to the CPUs near it";
  if (link != nullptr) {
    path.path_class = link->kind == LinkKind::c2c ? PathClass::c2c : PathClass::nvl;
    path.nvlinks = link->count;
    path.reason = count_text(*link);
    sum.cross(link->bandwidth, concat(count_text(*link), " of ", name_of(machine_, device.device)));
  } else if (device.chain.empty()) {
    sum.cross({}, concat("the PCIe link of ", name_of(machine_, device.device)));
  } else {
    cross_pci(device.chain, is_upwards, path, sum);
  }
  if (device.numa_id != node.numa_id) {
    path.path_class = PathClass::sys;
    path.nvlinks = {};
    path.reason = concat("between NUMA", *device.numa_id, " and NUMA", *node.numa_id);
    cross_socket(is_upwards ? device : node, is_upwards ? node : device, path, sum);
  }
  sum.finish(path);
  return path;
}

Path PathBuilder::between_numa_nodes(const DevicePlace& from, const DevicePlace& to) {
  const auto& package_a = machine_.numa_nodes[static_cast<std::size_t>(*from.node)].package;
  const auto& package_b = machine_.numa_nodes[static_cast<std::size_t>(*to.node)].package;
  Path path;
  if (!package_a || !package_b) {
    path.reason = concat("package of ", name_of(machine_, package_a ? to.device : from.device), " unknown");
    return path;
  }
  if (package_a == package_b) {
    path.path_class = PathClass::node;
    path.reason = "NUMA nodes of one package";
    return path;
  }
  path.path_class = PathClass::sys;
  path.reason = "between packages";
  RouteSum sum;
  cross_socket(from, to, path, sum);
  sum.finish(path);
  return path;
}

Path PathBuilder::between_hosts(const DevicePlace& from, const DevicePlace& to) const {
  Path path{.path_class = PathClass::net};
  const auto a = network_gb_per_s(machine_, from.host);
  const auto b = network_gb_per_s(machine_, to.host);
  path.reason = concat("between host", from.host, " and host", to.host);
  if (a && b) {
    path.bandwidth = {.gb_per_s = std::min(*a, *b), .source = Source::evidence};
  } else {
    path.reason += "; rate of a NIC unknown";
  }
  return path;
}

Path PathBuilder::derive(const DevicePlace& from, const DevicePlace& to) {
  if (from.device == to.device) {
    return {.path_class = PathClass::loc, .reason = "the same device"};
  }
  const bool both_gpus = from.device.kind == PartKind::gpu && to.device.kind == PartKind::gpu;
  if (both_gpus) {
    if (auto path = over_nvlink(from.device.position, to.device.position)) return *path;
  }
  if (from.host != to.host) return between_hosts(from, to);
  if (both_gpus) {
    for (const auto& device : {from.device, to.device}) {
      if (!links_[static_cast<std::size_t>(device.position)].has_unknown_end) continue;
      Path path;
      path.reason = concat("a link of ", name_of(machine_, device), " has an unknown end");
      return path;
    }
  }
  const bool from_node = from.device.kind == PartKind::numa_node;
  const bool to_node = to.device.kind == PartKind::numa_node;
  if (from_node && to_node) return between_numa_nodes(from, to);
  if (to_node) return to_cpu(from, to, true);
  if (from_node) return to_cpu(to, from, false);
  Path path = over_pci(from, to);
  if (both_gpus && !machine_.has_link_evidence) path.reason += " (this evidence does not show NVLinks)";
  return path;
}

}  // namespace ringcomm::inline v0::topology
