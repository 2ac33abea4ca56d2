// SPDX-License-Identifier: Apache-2.0
// Machines built by hand for the tests of paths, NICs and rings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringcomm/topology/machine.hpp"

namespace ringcomm::inline v0 {

inline constexpr int kTestGen4 = 16;
inline constexpr int kTestGen5 = 32;

class MachineMaker {
 public:
  explicit MachineMaker(int packages = 1, int nodes_per_package = 1, int cpus_per_node = 4) {
    machine.hosts.push_back({.name = "a"});
    for (int package = 0; package < packages; ++package) {
      machine.packages.push_back({.host = 0, .id = package, .vendor = "AuthenticAMD", .arch = "x86_64"});
      for (int node = 0; node < nodes_per_package; ++node) {
        const int id = static_cast<int>(machine.numa_nodes.size());
        std::vector<int> cpus;
        for (int cpu = 0; cpu < cpus_per_node; ++cpu) {
          cpus.push_back((id * cpus_per_node) + cpu);
          machine.cores.push_back({.package = package, .memory_node = id, .cpus = {cpus.back()}});
        }
        machine.numa_nodes.push_back({.host = 0, .id = id, .package = package, .cpus = std::move(cpus)});
      }
    }
    machine.has_gpu_evidence = machine.has_nic_evidence = machine.has_link_evidence = true;
  }

  /// A bridge or the function of a device, Gen4 x16.
  int pci(const std::string& bus, std::optional<int> parent, std::optional<int> numa, bool is_bridge = true) {
    PciDevice device{.id = parse_pci_bus_id(bus).value(), .parent = parent, .is_bridge = is_bridge};
    device.numa_node = numa;
    device.link = {.gt_per_s = kTestGen4, .width = 16};
    machine.pci.push_back(device);
    return static_cast<int>(machine.pci.size()) - 1;
  }
  int gpu(const std::string& bus, std::optional<int> parent, std::optional<int> numa, int capability = 80) {
    Gpu gpu{.index = static_cast<int>(machine.gpus.size())};
    gpu.vendor = GpuVendor::nvidia;
    gpu.pci = pci(bus, parent, numa, false);
    gpu.bus = machine.pci[static_cast<std::size_t>(*gpu.pci)].id;
    gpu.numa_node = numa;
    gpu.compute_capability = capability;
    machine.gpus.push_back(gpu);
    return gpu.index;
  }
  int nic(const std::string& name, const std::string& bus, std::optional<int> parent, std::optional<int> numa,
          double gbit_per_s = 200) {
    Nic nic{.name = name};
    nic.pci = pci(bus, parent, numa, false);
    nic.bus = machine.pci[static_cast<std::size_t>(*nic.pci)].id;
    nic.numa_node = numa;
    Port port;
    port.state = PortState::active;
    port.link_layer = LinkLayer::infiniband;
    port.gbit_per_s = gbit_per_s;
    nic.ports.push_back(port);
    machine.nics.push_back(nic);
    return static_cast<int>(machine.nics.size()) - 1;
  }
  void nvlink(int a, int b, int count) {
    for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      Link link{.gpu = from, .end = LinkEnd::gpu, .peer = to};
      link.target = machine.gpus[static_cast<std::size_t>(to)].bus;
      link.count = count;
      machine.links.push_back(link);
    }
  }
  void to_switch(int gpu, const std::string& target, int count) {
    Link link{.gpu = gpu, .end = LinkEnd::nvswitch};
    link.target = parse_pci_bus_id(target).value();
    link.count = count;
    machine.links.push_back(link);
  }

  Machine machine;
};

/// Two sockets with two PCIe switches each; a switch holds two GPUs and a NIC: 8 GPUs, 4 NICs.
inline Machine pcie_machine() {
  MachineMaker maker(2);
  for (int i = 0; i < 4; ++i) {
    const std::string digit = std::to_string(i + 1);
    const int port = maker.pci("0000:" + digit + "0:01.0", std::nullopt, i / 2);
    const int upstream = maker.pci("0000:" + digit + "1:00.0", port, i / 2);
    for (int device = 0; device < 3; ++device) {
      const std::string slot = std::to_string(device);
      const int downstream = maker.pci("0000:" + digit + "2:0" + slot + ".0", upstream, i / 2);
      const std::string bus = "0000:" + digit + std::to_string(3 + device) + ":00.0";
      if (device < 2) {
        maker.gpu(bus, downstream, i / 2);
      } else {
        maker.nic("mlx5_" + std::to_string(i), bus, downstream, i / 2);
      }
    }
  }
  return maker.machine;
}

/// The cube mesh of DGX-1V: 8 GPUs, pairs of one or two links, four switches with two GPUs each.
inline Machine cube_mesh() {
  Machine machine = pcie_machine();
  MachineMaker maker;
  maker.machine = std::move(machine);
  for (auto& gpu : maker.machine.gpus) gpu.compute_capability = 70;
  for (const auto& [a, b, count] :
       {std::tuple(0, 1, 1), std::tuple(0, 2, 1), std::tuple(0, 3, 2), std::tuple(0, 4, 2),
        std::tuple(1, 2, 2), std::tuple(1, 3, 1), std::tuple(1, 5, 2), std::tuple(2, 3, 2),
        std::tuple(2, 6, 1), std::tuple(3, 7, 1), std::tuple(4, 5, 1), std::tuple(4, 6, 1),
        std::tuple(4, 7, 2), std::tuple(5, 6, 2), std::tuple(5, 7, 1), std::tuple(6, 7, 2)}) {
    maker.nvlink(a, b, count);
  }
  return maker.machine;
}

}  // namespace ringcomm::inline v0
