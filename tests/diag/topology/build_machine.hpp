// SPDX-License-Identifier: Apache-2.0
// Small machines, written down field by field, and questions about findings.
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ringcomm/diag/topology_checks.hpp"

namespace ringcomm::topology_test {

inline PciBusId bus(int number, int device = 0) {
  return {.domain = 0,
          .bus = static_cast<std::uint8_t>(number),
          .device = static_cast<std::uint8_t>(device),
          .function = 0};
}

/// Adds a bridge or function with a Gen5 x16 link and slot; its position.
inline int add_pci(Machine& machine, int number, std::optional<int> parent, std::uint32_t class_code) {
  PciDevice device;
  device.id = bus(number);
  device.parent = parent;
  device.class_code = class_code;
  device.is_bridge = (class_code >> 8) == 0x0604;
  device.link.gt_per_s = 32;
  device.link.width = 16;
  device.link.speed_text = "32.0 GT/s PCIe";
  device.slot = device.link;
  device.numa_node = 0;
  device.where = {.file = "made.txt", .line = number};
  if (device.is_bridge) device.acs = AcsControl{};
  machine.pci.push_back(device);
  return static_cast<int>(machine.pci.size()) - 1;
}

inline int add_gpu(Machine& machine, std::optional<int> pci, int numa = 0) {
  Gpu gpu;
  gpu.index = static_cast<int>(machine.gpus.size());
  gpu.pci = pci;
  gpu.bus = pci ? machine.pci[static_cast<std::size_t>(*pci)].id : bus(200 + gpu.index);
  gpu.vendor = GpuVendor::nvidia;
  gpu.numa_node = numa;
  gpu.where = {.file = "made.txt", .line = 100 + gpu.index};
  machine.gpus.push_back(gpu);
  machine.has_gpu_evidence = true;
  return gpu.index;
}

inline int add_nic(Machine& machine, std::string name, std::optional<int> pci, double gbit_per_s = 400) {
  Nic nic;
  nic.name = std::move(name);
  nic.pci = pci;
  if (pci) nic.bus = machine.pci[static_cast<std::size_t>(*pci)].id;
  nic.numa_node = 0;
  Port port;
  port.state = PortState::active;
  port.phys_state = PhysState::link_up;
  port.link_layer = LinkLayer::infiniband;
  port.gbit_per_s = gbit_per_s;
  port.active_mtu_bytes = 4096;
  port.max_mtu_bytes = 4096;
  port.gpu_direct = true;
  nic.ports.push_back(port);
  nic.where = {.file = "made.txt", .line = 300 + static_cast<int>(machine.nics.size())};
  machine.nics.push_back(nic);
  machine.has_nic_evidence = true;
  return static_cast<int>(machine.nics.size()) - 1;
}

inline Machine one_host(int nodes) {
  Machine machine;
  machine.hosts.emplace_back();
  for (int i = 0; i < nodes; ++i) {
    Package package;
    package.id = i;
    package.vendor = "GenuineIntel";
    package.arch = "x86_64";
    package.family = 6;
    package.model = 85;
    machine.packages.push_back(package);
    NumaNode node;
    node.id = i;
    node.package = i;
    node.cpus = std::vector<int>{};
    for (int cpu = 0; cpu < 16; ++cpu) node.cpus->push_back((i * 16) + cpu);
    node.where = {.file = "made.txt", .line = 10 + i};
    machine.numa_nodes.push_back(node);
  }
  return machine;
}

/// Root port, switch with two downstream ports, a GPU and a NIC: what most hosts are made of, `count` times.
inline Machine switched_host(int count = 2) {
  Machine machine = one_host(1);
  for (int i = 0; i < count; ++i) {
    const int base = 16 * (i + 1);
    const int root = add_pci(machine, base, {}, 0x060400);
    const int upstream = add_pci(machine, base + 1, root, 0x060400);
    const int port_a = add_pci(machine, base + 2, upstream, 0x060400);
    const int port_b = add_pci(machine, base + 3, upstream, 0x060400);
    add_gpu(machine, add_pci(machine, base + 4, port_a, 0x030200));
    add_nic(machine, "mlx5_" + std::to_string(i), add_pci(machine, base + 5, port_b, 0x020700));
  }
  return machine;
}

inline void add_link(Machine& machine, int from, int to, std::optional<int> count) {
  Link link;
  link.gpu = from;
  link.end = LinkEnd::gpu;
  link.peer = to;
  link.target = machine.gpus[static_cast<std::size_t>(to)].bus;
  link.count = count;
  link.where = {.file = "made.txt", .line = 500 + from};
  machine.links.push_back(link);
  machine.has_link_evidence = true;
}

inline void add_switch_link(Machine& machine, int gpu, std::optional<int> count) {
  Link link;
  link.gpu = gpu;
  link.end = LinkEnd::nvswitch;
  link.target = bus(250);
  link.count = count;
  link.where = {.file = "made.txt", .line = 500 + gpu};
  machine.links.push_back(link);
  machine.has_link_evidence = true;
}

inline void state_path(Machine& machine, DeviceRef from, DeviceRef to, PathClass path_class,
                       std::optional<int> nvlinks = {}) {
  for (const auto& [a, b] : {std::pair(from, to), std::pair(to, from)}) {
    StatedPath path;
    path.from = a;
    path.to = b;
    path.path_class = path_class;
    path.nvlinks = nvlinks;
    path.where = {.file = "topo.txt", .line = 2 + a.position};
    machine.stated_paths.push_back(path);
  }
}

inline DeviceRef gpu(int position) { return {.kind = PartKind::gpu, .position = position}; }
inline DeviceRef nic(int position) { return {.kind = PartKind::nic, .position = position}; }

inline TopologyCase case_of(Machine machine, std::vector<LogEvent> events = {}) {
  MergedEvidence evidence;
  evidence.machine = std::move(machine);
  evidence.job.events = std::move(events);
  return make_topology_case(std::move(evidence), CostModel::table());
}

inline LogEvent event(LogEventKind kind, std::vector<std::pair<std::string, std::string>> values) {
  LogEvent made;
  made.kind = kind;
  made.host = "node01";
  made.values = std::move(values);
  made.where = {.file = "job.log", .line = 7};
  return made;
}

/// The finding of this id in this state; nothing if there is none.
inline std::optional<Finding> finding_of(const std::vector<Finding>& findings, std::string_view id,
                                         CheckState state = CheckState::problem) {
  const auto found = std::ranges::find_if(
      findings, [&](const Finding& finding) { return finding.id == id && finding.state == state; });
  return found == findings.end() ? std::nullopt : std::optional(*found);
}

inline std::set<std::string> problem_ids(const std::vector<Finding>& findings,
                                         Severity at_least = Severity::warning) {
  std::set<std::string> ids;
  for (const Finding& finding : findings) {
    if (finding.state == CheckState::problem && finding.severity >= at_least) ids.insert(finding.id);
  }
  return ids;
}

}  // namespace ringcomm::topology_test
