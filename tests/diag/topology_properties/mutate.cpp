// SPDX-License-Identifier: Apache-2.0
#include "diag/topology_properties/mutate.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

namespace ringcomm::topology_properties {
namespace {

using Collect = std::vector<Blank>;

/// Adds one blank for each element of `list` of which the member that `get` yields is known.
template <class List, class Get>
void add(Collect& all, const MergedEvidence& evidence, const std::string& name, List list, Get get,
         std::size_t most) {
  MergedEvidence& source = const_cast<MergedEvidence&>(evidence);  // only read here
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < list(source).size(); ++i) {
    auto& member = get(list(source)[i]);
    using Member = std::remove_reference_t<decltype(member)>;
    if (member != Member()) known.push_back(i);
  }
  const std::size_t step = std::max<std::size_t>(1, (known.size() + most - 1) / most);
  for (std::size_t k = 0; k < known.size(); k += step) {
    const std::size_t i = known[k];
    all.push_back(
        {.name = name + " of " + std::to_string(i), .apply = [list, get, i](MergedEvidence& target) {
           auto& member = get(list(target)[i]);
           member = std::remove_reference_t<decltype(member)>();
         }});
  }
}

}  // namespace

std::vector<int> shuffled_gpus(const Machine& machine, unsigned seed) {
  std::map<int, std::vector<int>> by_host;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i)
    by_host[machine.gpus[i].host].push_back(static_cast<int>(i));
  std::vector<int> order(machine.gpus.size());
  std::mt19937 random(seed);
  for (auto& [host, positions] : by_host) {
    auto mixed = positions;
    std::shuffle(mixed.begin(), mixed.end(), random);
    for (std::size_t i = 0; i < positions.size(); ++i)
      order[static_cast<std::size_t>(positions[i])] = mixed[i];
  }
  return order;
}

MergedEvidence with_gpus_in_order(MergedEvidence evidence, const std::vector<int>& old_position) {
  Machine& machine = evidence.machine;
  std::vector<int> new_position(old_position.size());
  std::vector<Gpu> gpus;
  std::map<std::string, std::string> new_index;
  for (std::size_t i = 0; i < old_position.size(); ++i) {
    const auto old = static_cast<std::size_t>(old_position[i]);
    new_position[old] = static_cast<int>(i);
    Gpu moved = machine.gpus[old];
    new_index[std::to_string(moved.index)] = std::to_string(machine.gpus[i].index);
    moved.index = machine.gpus[i].index;
    gpus.push_back(std::move(moved));
  }
  machine.gpus = std::move(gpus);
  const auto follow = [&](int& position) { position = new_position[static_cast<std::size_t>(position)]; };
  for (Link& link : machine.links) {
    follow(link.gpu);
    if (link.end == LinkEnd::gpu && link.peer) follow(*link.peer);
  }
  for (StatedPath& path : machine.stated_paths) {
    for (DeviceRef* end : {&path.from, &path.to}) {
      if (end->kind == PartKind::gpu) follow(end->position);
    }
  }
  for (P2pStatus& cell : machine.p2p) {
    follow(cell.from);
    follow(cell.to);
  }
  for (LogEvent& event : evidence.job.events) {
    for (auto& [key, value] : event.values) {
      const auto known = new_index.find(value);
      if (event.kind == LogEventKind::affinity && key == "gpu" && known != new_index.end())
        value = known->second;
    }
  }
  return evidence;
}

MergedEvidence with_links_times(MergedEvidence evidence, int factor) {
  for (Link& link : evidence.machine.links) {
    if (link.count) *link.count *= factor;
  }
  for (StatedPath& path : evidence.machine.stated_paths) {
    if (path.nvlinks) *path.nvlinks *= factor;
  }
  return evidence;
}

std::vector<Blank> blanks_of(const MergedEvidence& evidence, std::size_t most) {
  Collect all;
  const auto pci = [](MergedEvidence & e) -> auto& { return e.machine.pci; };
  const auto gpus = [](MergedEvidence & e) -> auto& { return e.machine.gpus; };
  const auto nics = [](MergedEvidence & e) -> auto& { return e.machine.nics; };
  const auto nodes = [](MergedEvidence & e) -> auto& { return e.machine.numa_nodes; };
  const auto packages = [](MergedEvidence & e) -> auto& { return e.machine.packages; };
  const auto links = [](MergedEvidence & e) -> auto& { return e.machine.links; };
  const auto stated = [](MergedEvidence & e) -> auto& { return e.machine.stated_paths; };
  const auto p2p = [](MergedEvidence & e) -> auto& { return e.machine.p2p; };
  add(
      all, evidence, "pci.class_code", pci, [](PciDevice & d) -> auto& { return d.class_code; }, most);
  add(
      all, evidence, "pci.link.gt_per_s", pci, [](PciDevice & d) -> auto& { return d.link.gt_per_s; }, most);
  add(
      all, evidence, "pci.link.width", pci, [](PciDevice & d) -> auto& { return d.link.width; }, most);
  add(
      all, evidence, "pci.link.stated", pci, [](PciDevice & d) -> auto& { return d.link.stated_gb_per_s; },
      most);
  add(
      all, evidence, "pci.slot.gt_per_s", pci, [](PciDevice & d) -> auto& { return d.slot.gt_per_s; }, most);
  add(
      all, evidence, "pci.slot.width", pci, [](PciDevice & d) -> auto& { return d.slot.width; }, most);
  add(
      all, evidence, "pci.numa_node", pci, [](PciDevice & d) -> auto& { return d.numa_node; }, most);
  add(
      all, evidence, "pci.relaxed_ordering", pci, [](PciDevice & d) -> auto& { return d.relaxed_ordering; },
      most);
  add(
      all, evidence, "pci.max_read_request", pci,
      [](PciDevice & d) -> auto& { return d.max_read_request_bytes; }, most);
  add(
      all, evidence, "gpu.bus", gpus, [](Gpu & g) -> auto& { return g.bus; }, most);
  add(
      all, evidence, "gpu.pci", gpus, [](Gpu & g) -> auto& { return g.pci; }, most);
  add(
      all, evidence, "gpu.name", gpus, [](Gpu & g) -> auto& { return g.name; }, most);
  add(
      all, evidence, "gpu.compute_capability", gpus, [](Gpu & g) -> auto& { return g.compute_capability; },
      most);
  add(
      all, evidence, "gpu.numa_node", gpus, [](Gpu & g) -> auto& { return g.numa_node; }, most);
  add(
      all, evidence, "gpu.cpus", gpus, [](Gpu & g) -> auto& { return g.cpus; }, most);
  add(
      all, evidence, "gpu.gpu_direct", gpus, [](Gpu & g) -> auto& { return g.gpu_direct; }, most);
  add(
      all, evidence, "nic.pci", nics, [](Nic & n) -> auto& { return n.pci; }, most);
  add(
      all, evidence, "nic.numa_node", nics, [](Nic & n) -> auto& { return n.numa_node; }, most);

  add(
      all, evidence, "node.cpus", nodes, [](NumaNode & n) -> auto& { return n.cpus; }, most);
  add(
      all, evidence, "node.package", nodes, [](NumaNode & n) -> auto& { return n.package; }, most);
  add(
      all, evidence, "package.vendor", packages, [](Package & p) -> auto& { return p.vendor; }, most);
  add(
      all, evidence, "package.model", packages, [](Package & p) -> auto& { return p.model; }, most);
  add(
      all, evidence, "link.count", links, [](Link & l) -> auto& { return l.count; }, most);
  add(
      all, evidence, "link.gb_per_s_each", links, [](Link & l) -> auto& { return l.gb_per_s_each; }, most);
  add(
      all, evidence, "stated.nvlinks", stated, [](StatedPath & p) -> auto& { return p.nvlinks; }, most);
  add(
      all, evidence, "p2p.status", p2p, [](P2pStatus & p) -> auto& { return p.status; }, most);
  for (std::size_t i = 0; i < evidence.machine.stated_paths.size();
       i += std::max<std::size_t>(1, evidence.machine.stated_paths.size() / most)) {
    all.push_back({.name = "stated.path_class of " + std::to_string(i), .apply = [i](MergedEvidence& target) {
                     target.machine.stated_paths[i].path_class = PathClass::unknown;
                     target.machine.stated_paths[i].nvlinks.reset();
                     target.machine.stated_paths[i].gb_per_s.reset();
                   }});
  }
  for (std::size_t n = 0; n < evidence.machine.nics.size(); ++n) {
    for (std::size_t p = 0; p < evidence.machine.nics[n].ports.size(); ++p) {
      const std::string name = " of nic " + std::to_string(n) + " port " + std::to_string(p);
      all.push_back({.name = "port.state" + name, .apply = [n, p](MergedEvidence& e) {
                       e.machine.nics[n].ports[p].state = PortState::unknown;
                     }});
      all.push_back({.name = "port.phys_state" + name, .apply = [n, p](MergedEvidence& e) {
                       e.machine.nics[n].ports[p].phys_state = PhysState::unknown;
                     }});
      all.push_back({.name = "port.rate" + name,
                     .apply = [n, p](MergedEvidence& e) { e.machine.nics[n].ports[p].gbit_per_s.reset(); }});
    }
  }
  for (std::size_t g = 0; g < evidence.machine.gpus.size(); ++g) {
    for (std::size_t p = 0; p < evidence.machine.gpus[g].nvlink_ports.size(); p += 5) {
      all.push_back({.name = "nvlink port of GPU " + std::to_string(g), .apply = [g, p](MergedEvidence& e) {
                       e.machine.gpus[g].nvlink_ports[p].is_active.reset();
                     }});
    }
  }
  return all;
}

}  // namespace ringcomm::topology_properties
