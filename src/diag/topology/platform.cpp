// SPDX-License-Identifier: Apache-2.0
// Memory nodes, virtual machines, and devices that nothing shows (spec checks 11, 12, 13, 33, 65).
#include <algorithm>
#include <map>
#include <set>

#include "diag/topology/lookup.hpp"
#include "diag/topology/themes.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

std::size_t nodes_with_cpus(const Machine& machine, int host) {
  return static_cast<std::size_t>(std::ranges::count_if(
      machine.numa_nodes, [&](const NumaNode& node) { return node.host == host && !node.is_memory_only(); }));
}

/// Two GPUs of the host have a path between NUMA nodes, so there is more than the one node that is known.
bool crosses_nodes(const TopologyCase& input, int host) {
  const Machine& machine = input.evidence.machine;
  for (std::size_t a = 0; a < machine.gpus.size(); ++a) {
    for (std::size_t b = a + 1; b < machine.gpus.size(); ++b) {
      if (machine.gpus[a].host != host || machine.gpus[b].host != host) continue;
      const Path* path = path_between(input, gpu_ref(a), gpu_ref(b));
      if (path && path->path_class == PathClass::sys) return true;
    }
  }
  return false;
}

/// Product names of clouds that ship a topology file for their machines.
bool is_cloud(const Host& host) {
  constexpr std::array<std::string_view, 7> kProducts{"Amazon EC2", "p4d", "p5", "Virtual Machine",
                                                      "Google",     "OCI", "KVM"};
  return std::ranges::any_of(
      kProducts, [&](std::string_view name) { return contains_ignoring_case(host.product, name); });
}

bool has_topology_file(const TopologyCase& input) {
  return !events_of(input, LogEventKind::topology_file).empty() || variable_of(input, "NCCL_TOPO_FILE");
}

/// All GPU-NIC paths of a host over the CPU or worse; nothing when there are none, or some are unknown.
std::optional<bool> is_flat(const TopologyCase& input, int host) {
  const Machine& machine = input.evidence.machine;
  std::optional<bool> flat;
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
    for (std::size_t nic = 0; nic < machine.nics.size(); ++nic) {
      if (machine.gpus[gpu].host != host || machine.nics[nic].host != host || !machine.nics[nic].is_rdma)
        continue;
      const Path* path = path_between(input, gpu_ref(gpu), nic_ref(nic));
      if (!path || path->path_class == PathClass::unknown) return std::nullopt;
      flat = flat.value_or(true) && path->path_class >= PathClass::phb;
    }
  }
  return flat;
}

}  // namespace

void check_numa_node_missing(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  std::map<int, std::vector<std::size_t>> missing;
  std::map<int, std::size_t> known;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    if (gpu.numa_node) {
      ++known[gpu.host];
    } else {
      missing[gpu.host].push_back(i);
    }
  }
  for (const auto& [host, gpus] : missing) {
    for (const std::size_t i : gpus) {
      const Gpu& gpu = machine.gpus[i];
      // With one node, or when nobody's is known, the source does not say; that is no fault of the machine.
      if (known[host] == 0) {
        if (nodes_with_cpus(machine, host) == 1 && !crosses_nodes(input, host)) continue;
        report.unknown(concat("NUMA node of ", name_of(machine, gpu_ref(i)), " is not in the evidence"),
                       Ask::lstopo, gpu.where, {gpu_ref(i)});
        continue;
      }
      if (!gpu.cpus) {  // a row that was cut, rather than "N/A" beside a list of CPUs
        report.unknown(concat("NUMA node of ", name_of(machine, gpu_ref(i)), " is not in the evidence"),
                       Ask::lstopo, gpu.where, {gpu_ref(i)});
        continue;
      }
      report.problem({.read = concat(name_of(machine, gpu_ref(i)), ": no NUMA node (N/A or -1)"),
                      .wanted = "a node, as the other GPUs have",
                      .where = gpu.where},
                     {gpu_ref(i)});
    }
  }
  for (const auto& [host, count] : known) {
    if (count > 0) report.looked();
  }
  report.word({.title = concat("no NUMA node is known for ", report.devices_text(machine),
                               " although other GPUs have one"),
               .fix = "bind its rank by the GPU's CPU list; the platform's ACPI tables (BIOS) omit the node",
               .needs_reboot = true});
}

void check_numa_nodes_per_package(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  std::map<std::pair<int, int>, std::set<int>> nodes;
  for (const NumaNode& node : machine.numa_nodes) {
    if (!node.package) continue;
    if (!node.cpus) {
      report.unknown(concat("CPUs of NUMA", node.id, " are not in the evidence"), Ask::lstopo, node.where);
    } else if (!node.cpus->empty()) {
      nodes[{node.host, *node.package}].insert(node.id);
    }
  }
  for (const auto& [key, ids] : nodes) {
    report.looked();
    if (ids.size() < 2) continue;
    std::set<int> used;
    std::vector<DeviceRef> devices;
    for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
      const Gpu& gpu = machine.gpus[i];
      if (gpu.host != key.first || !gpu.numa_node || !ids.contains(*gpu.numa_node)) continue;
      used.insert(*gpu.numa_node);
      devices.push_back(gpu_ref(i));
    }
    if (devices.size() < 2 || used.size() != 1) continue;
    report.problem({.read = concat(counted(ids.size(), "NUMA node"),
                                   " in one package, and all its GPUs on NUMA", *used.begin()),
                    .wanted = "one node per package, or ranks bound by node",
                    .where = machine.gpus[static_cast<std::size_t>(devices.front().position)].where},
                   devices);
  }
  report.word({.title = concat("sub-NUMA nodes leave ", report.devices_text(machine),
                               " with one part of the memory channels"),
               .fix = "set NPS1 (AMD) or switch SNC off (Intel) in the BIOS, or bind ranks by node",
               .needs_reboot = true});
}

void check_vm_without_topology_file(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  for (std::size_t i = 0; i < machine.hosts.size(); ++i) {
    const Host& host = machine.hosts[i];
    const int position = static_cast<int>(i);
    if (!is_rdma_host(machine, position) || machine.gpus.empty()) continue;
    const auto flat = is_flat(input, position);
    if (!flat) continue;
    if (!*flat || has_topology_file(input)) {
      report.looked();
      continue;
    }
    if (!host.is_virtual && host.product.empty()) {
      report.unknown(
          "every GPU reaches its NICs over the CPU; whether this is a virtual machine is not in the evidence",
          Ask::live);
      continue;
    }
    if (!host.is_virtual.value_or(false) && !is_cloud(host)) continue;
    std::vector<DeviceRef> devices;
    for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
      if (machine.gpus[gpu].host == position) devices.push_back(gpu_ref(gpu));
    }
    report.problem(
        {.read = concat("virtual machine '", host.product, "', no PCIe switch between GPUs and NICs"),
         .wanted = "NCCL_TOPO_FILE of the vendor"},
        devices);
  }
  report.word({.title = "a virtual machine hides its PCIe switches and no topology file is set",
               .fix = "export NCCL_TOPO_FILE=<the cloud's file for this machine type>"});
}

void check_gpu_memory_node_in_policy(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  std::vector<std::string> good;
  bool has_memory_only = false;
  for (const NumaNode& node : machine.numa_nodes) {
    if (node.is_memory_only()) {
      has_memory_only = true;
    } else if (node.cpus && node.host == 0) {
      good.push_back(concat(node.id));
    } else if (!node.cpus && !node.subtype.empty()) {
      report.unknown(concat("CPUs of NUMA", node.id, " are not in the evidence"), Ask::lstopo, node.where);
    }
  }
  if (!has_memory_only) return;
  report.looked();
  for (std::size_t i = 0; i < input.rings.placements.size() && i < input.rings.graph.devices.size(); ++i) {
    const Placement& placement = input.rings.placements[i];
    const NumaNode* node = numa_node(machine, 0, placement.memory_node);
    if (!node || !node->is_memory_only()) continue;
    const DeviceRef device = input.rings.graph.devices[i];
    report.problem({.read = concat("rank of ", name_of(machine, device), ": memory from NUMA", node->id,
                                   ", which has no CPUs"),
                    .wanted = "a node with CPUs",
                    .where = node->where},
                   {device});
  }
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    const NumaNode* node = gpu.numa_node ? numa_node(machine, gpu.host, *gpu.numa_node) : nullptr;
    if (!node || !node->is_memory_only()) continue;
    report.problem({.read = concat(name_of(machine, gpu_ref(i)), ": CPU node NUMA", node->id, " has no CPUs"),
                    .wanted = "a node with CPUs",
                    .where = gpu.where},
                   {gpu_ref(i)});
  }
  report.word({.title = concat("memory of ", report.devices_text(machine),
                               " would come from a GPU's own memory node"),
               .fix = concat("numactl --membind=", joined(good, ","))});
}

void check_no_device_evidence(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  const bool has_machine = !machine.numa_nodes.empty() || !machine.packages.empty() || !machine.nics.empty();
  if (machine.gpus.empty() && !machine.has_gpu_evidence && has_machine) {
    report.unknown("no GPU is in the evidence, and it could not have shown one (no PCI devices in it)",
                   Ask::lstopo);
  } else if (!machine.gpus.empty()) {
    report.looked();
  }
}

}  // namespace ringcomm::inline v0::diag
