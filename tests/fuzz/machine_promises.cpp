// SPDX-License-Identifier: Apache-2.0
#include "fuzz/machine_promises.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "topology/readers/reader.hpp"

namespace ringcomm::fuzz {
namespace {

bool is_in(int position, std::size_t size) {
  return position >= 0 && static_cast<std::size_t>(position) < size;
}
bool is_in(std::optional<int> position, std::size_t size) { return !position || is_in(*position, size); }
bool is_positive(std::optional<double> value) { return !value || (*value > 0 && std::isfinite(*value)); }
bool is_positive(std::optional<int> value) { return !value || *value > 0; }

bool leads_to_a_part(const Machine& machine, DeviceRef part) {
  switch (part.kind) {
    case PartKind::gpu:
      return is_in(part.position, machine.gpus.size());
    case PartKind::nic:
      return is_in(part.position, machine.nics.size());
    case PartKind::numa_node:
      return is_in(part.position, machine.numa_nodes.size());
  }
  return false;
}

void check_pci(const Machine& machine, std::size_t hosts) {
  for (const PciDevice& device : machine.pci) {
    promise(is_in(device.host, hosts), "the host of a PCI device is there");
    for (const PciLink& link : {device.link, device.slot}) {
      promise(is_positive(link.gt_per_s) && is_positive(link.width) && is_positive(link.stated_gb_per_s),
              "an unknown PCI link is not 0");
    }
    promise(is_in(device.parent, machine.pci.size()), "the bridge above is there");
    std::size_t steps = 0;
    for (auto above = device.parent; above && steps <= machine.pci.size(); ++steps)
      above = machine.pci[static_cast<std::size_t>(*above)].parent;
    promise(steps <= machine.pci.size(), "the PCI tree has no circle");
  }
}

void check_devices(const Machine& machine, std::size_t hosts) {
  std::set<std::pair<int, int>> numbers;
  for (const Gpu& gpu : machine.gpus) {
    promise(is_in(gpu.host, hosts), "the host of a GPU is there");
    promise(numbers.emplace(gpu.host, gpu.index).second, "a GPU's number is its own");
    promise(is_in(gpu.pci, machine.pci.size()), "the PCI function of a GPU is there");
    if (gpu.cpus) check_cpus(*gpu.cpus);
    for (const NvLinkPort& port : gpu.nvlink_ports)
      promise(is_positive(port.gb_per_s), "a port's speed is not 0");
  }
  for (const Nic& nic : machine.nics) {
    promise(is_in(nic.host, hosts), "the host of a NIC is there");
    promise(is_in(nic.pci, machine.pci.size()), "the PCI function of a NIC is there");
    for (const Port& port : nic.ports) promise(is_positive(port.gbit_per_s), "a port's rate is not 0");
  }
}

void check_paths(const Machine& machine) {
  for (const Link& link : machine.links) {
    promise(is_in(link.gpu, machine.gpus.size()), "the GPU of a link is there");
    promise(link.end != LinkEnd::gpu || is_in(link.peer, machine.gpus.size()), "the peer of a link is there");
    promise(link.end != LinkEnd::numa_node || is_in(link.peer, machine.numa_nodes.size()),
            "the NUMA node of a link is there");
    promise(is_positive(link.count) && is_positive(link.gb_per_s_each), "an unknown link is not 0");
  }
  for (const StatedPath& path : machine.stated_paths) {
    promise(leads_to_a_part(machine, path.from) && leads_to_a_part(machine, path.to),
            "both ends of a path are there");
    promise(is_positive(path.nvlinks) && is_positive(path.gb_per_s), "an unknown path is not 0");
  }
  for (const P2pStatus& status : machine.p2p) {
    promise(is_in(status.from, machine.gpus.size()) && is_in(status.to, machine.gpus.size()),
            "both GPUs of a peer-to-peer answer are there");
  }
}

}  // namespace

void promise(bool is_kept, const char* what) {
  if (is_kept) return;
  std::fprintf(stderr, "broken promise: %s\n", what);
  std::abort();
}

void check_cpus(const std::vector<int>& cpus) {
  promise(std::ranges::adjacent_find(cpus, [](int a, int b) { return a >= b; }) == cpus.end(),
          "CPUs are sorted, each once");
  promise(cpus.empty() || (cpus.front() >= 0 && cpus.back() < static_cast<int>(topology::kCpusMax)),
          "CPU numbers are within the limit");
}

void check_promises(const Machine& machine) {
  // A reader of one host may leave its entry out.
  const std::size_t hosts = std::max<std::size_t>(machine.hosts.size(), 1);
  promise(
      machine.gpus.size() <= 4 * topology::kDevicesMax && machine.nics.size() <= 4 * topology::kDevicesMax,
      "devices are bounded");
  for (const Package& package : machine.packages)
    promise(is_in(package.host, hosts), "the host of a package is there");
  for (const NumaNode& node : machine.numa_nodes) {
    promise(is_in(node.host, hosts), "the host of a NUMA node is there");
    promise(is_in(node.package, machine.packages.size()), "the package of a NUMA node is there");
    if (node.cpus) check_cpus(*node.cpus);
  }
  check_pci(machine, hosts);
  check_devices(machine, hosts);
  check_paths(machine);
}

}  // namespace ringcomm::fuzz
