// SPDX-License-Identifier: Apache-2.0
// Packages, NUMA nodes, cores and the PCI tree.
#include <set>
#include <tuple>

#include "topology/merge/merger.hpp"

namespace ringcomm::inline v0::topology {
namespace {

/// Position of the part with this host and id, which is added when it is new.
template <class T>
int find_or_add(std::vector<T>& parts, int host, int id) {
  const auto found =
      std::ranges::find_if(parts, [&](const T& part) { return part.host == host && part.id == id; });
  if (found != parts.end()) return static_cast<int>(found - parts.begin());
  parts.push_back({});
  parts.back().host = host;
  parts.back().id = id;
  return static_cast<int>(parts.size()) - 1;
}

}  // namespace

void Merger::add_places(const Reading& reading) {
  auto& machine = merged_.machine;
  for (const Package& package : reading.machine.packages) {
    const int host = moved(at_.hosts, package.host).value_or(0);
    at_.packages.push_back(find_or_add(machine.packages, host, package.id));
    Package& target = machine.packages[static_cast<std::size_t>(at_.packages.back())];
    fill_quietly(target.vendor, package.vendor);
    fill_quietly(target.model_name, package.model_name);
    fill_quietly(target.arch, package.arch);
    fill_quietly(target.family, package.family);
    fill_quietly(target.model, package.model);
  }
  for (const NumaNode& node : reading.machine.numa_nodes) {
    const int host = moved(at_.hosts, node.host).value_or(0);
    at_.numa_nodes.push_back(find_or_add(machine.numa_nodes, host, node.id));
    NumaNode& target = machine.numa_nodes[static_cast<std::size_t>(at_.numa_nodes.back())];
    const std::string name = name_on(host, concat("NUMA", node.id));
    if (target.where.file.empty()) target.where = node.where;
    fill_quietly(target.package, moved(at_.packages, node.package));
    fill(target.cpus, node.cpus, name + " CPUs", node.where);
    fill_quietly(target.memory_bytes, node.memory_bytes);
    fill_quietly(target.subtype, node.subtype);
  }
  std::set<std::tuple<int, int, int>> known;
  for (const NumaDistance& distance : machine.numa_distances)
    known.emplace(distance.host, distance.from, distance.to);
  for (NumaDistance distance : reading.machine.numa_distances) {
    distance.host = moved(at_.hosts, distance.host).value_or(0);
    if (known.emplace(distance.host, distance.from, distance.to).second)
      machine.numa_distances.push_back(distance);
  }
  if (machine.cores.empty() && moved(at_.hosts, 0).value_or(0) == 0) machine.cores = reading.machine.cores;
}

void Merger::add_pci(const Reading& reading) {
  auto& machine = merged_.machine;
  std::map<std::pair<int, PciBusId>, int> known;
  for (std::size_t i = 0; i < machine.pci.size(); ++i)
    known.emplace(std::pair(machine.pci[i].host, machine.pci[i].id), static_cast<int>(i));
  for (const PciDevice& device : reading.machine.pci) {
    const int host = moved(at_.hosts, device.host).value_or(0);
    const auto [found, is_new] =
        known.emplace(std::pair(host, device.id), static_cast<int>(machine.pci.size()));
    if (is_new) machine.pci.push_back({.host = host, .id = device.id, .where = device.where});
    at_.pci.push_back(found->second);
    lay_over(machine.pci[static_cast<std::size_t>(found->second)], device);
  }
  for (std::size_t i = 0; i < reading.machine.pci.size(); ++i) {
    const auto parent = moved(at_.pci, reading.machine.pci[i].parent);
    auto& target = machine.pci[static_cast<std::size_t>(at_.pci[i])];
    // NCCL leaves out bridges that others list: the first tree stays, and no device becomes its own ancestor.
    if (!parent || target.parent || *parent == at_.pci[i]) continue;
    target.parent = parent;
    std::size_t steps = 0;
    for (auto above = parent; above && steps <= machine.pci.size(); ++steps)
      above = machine.pci[static_cast<std::size_t>(*above)].parent;
    if (steps > machine.pci.size()) target.parent.reset();
  }
}

void Merger::lay_over(PciDevice& target, const PciDevice& device) {
  const std::string name = name_on(target.host, concat("PCI ", target.id.to_text()));
  target.is_bridge = target.is_bridge || device.is_bridge;
  fill_quietly(target.class_code, device.class_code);
  fill_quietly(target.vendor, device.vendor);
  fill_quietly(target.device, device.device);
  fill(target.numa_node, device.numa_node, name + " NUMA node", device.where);
  fill_quietly(target.root_bus, device.root_bus);
  fill(target.link.width, device.link.width, name + " lanes", device.where);
  // An idle link is slow, so two speeds are no contradiction; but they are worth a word.
  if (target.link.gt_per_s && device.link.gt_per_s && *target.link.gt_per_s != *device.link.gt_per_s)
    note(device.where, concat(device.link.speed_text),
         concat(name, " runs at ", *target.link.gt_per_s,
                " GT/s elsewhere (an idle link is slow): that stays"));
  if (!target.link.gt_per_s && device.link.gt_per_s) target.link.speed_text = device.link.speed_text;
  fill_quietly(target.link.gt_per_s, device.link.gt_per_s);
  fill_quietly(target.link.speed_text, device.link.speed_text);
  fill_quietly(target.link.stated_gb_per_s, device.link.stated_gb_per_s);
  fill_quietly(target.slot.stated_gb_per_s, device.slot.stated_gb_per_s);
  fill_quietly(target.slot.gt_per_s, device.slot.gt_per_s);
  fill_quietly(target.slot.width, device.slot.width);
  fill_quietly(target.slot.speed_text, device.slot.speed_text);
  fill_quietly(target.acs, device.acs);
  fill_quietly(target.relaxed_ordering, device.relaxed_ordering);
  fill_quietly(target.max_read_request_bytes, device.max_read_request_bytes);
  fill_quietly(target.max_payload_bytes, device.max_payload_bytes);
}

}  // namespace ringcomm::inline v0::topology
