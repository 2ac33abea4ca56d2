// SPDX-License-Identifier: Apache-2.0
// The order of the merged machine: by host and number or name, whatever order the files came in.
#include <numeric>
#include <tuple>

#include "topology/merge/merger.hpp"

namespace ringcomm::inline v0::topology {
namespace {

/// "mlx5_2" before "mlx5_10": the text, then the number at its end.
std::tuple<std::string, std::size_t, std::string> natural(const std::string& name) {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  return {name.substr(0, digits), name.size() - digits, name.substr(digits)};
}

/// Sorts `parts` and returns where each one went.
template <class T, class Key>
std::vector<int> sort_parts(std::vector<T>& parts, Key key) {
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return key(parts[i]); });
  std::vector<T> sorted;
  sorted.reserve(parts.size());
  std::vector<int> positions(parts.size());
  for (const std::size_t i : order) {
    positions[i] = static_cast<int>(sorted.size());
    sorted.push_back(std::move(parts[i]));
  }
  parts = std::move(sorted);
  return positions;
}

void move_devices(Machine& machine, const Positions& at) {
  for (NumaNode& node : machine.numa_nodes) node.package = moved(at.packages, node.package);
  for (PciDevice& device : machine.pci) device.parent = moved(at.pci, device.parent);
  for (Gpu& gpu : machine.gpus) gpu.pci = moved(at.pci, gpu.pci);
  for (Nic& nic : machine.nics) nic.pci = moved(at.pci, nic.pci);
}

void move_paths(Machine& machine, const Positions& at) {
  for (Link& link : machine.links) {
    link.gpu = moved(at.gpus, link.gpu).value_or(0);
    if (link.end == LinkEnd::gpu) link.peer = moved(at.gpus, link.peer);
    if (link.end == LinkEnd::numa_node) link.peer = moved(at.numa_nodes, link.peer);
  }
  for (StatedPath& path : machine.stated_paths) {
    path.from = moved(at, path.from).value_or(path.from);
    path.to = moved(at, path.to).value_or(path.to);
  }
  for (P2pStatus& status : machine.p2p) {
    status.from = moved(at.gpus, status.from).value_or(0);
    status.to = moved(at.gpus, status.to).value_or(0);
  }
}

}  // namespace

void sort_machine(Machine& machine) {
  Positions at;
  at.packages = sort_parts(machine.packages, [](const Package& p) { return std::tuple(p.host, p.id); });
  at.numa_nodes =
      sort_parts(machine.numa_nodes, [](const NumaNode& node) { return std::tuple(node.host, node.id); });
  at.pci = sort_parts(machine.pci, [](const PciDevice& d) { return std::tuple(d.host, d.id); });
  at.gpus = sort_parts(machine.gpus, [](const Gpu& gpu) { return std::tuple(gpu.host, gpu.index); });
  at.nics = sort_parts(machine.nics, [](const Nic& nic) { return std::tuple(nic.host, natural(nic.name)); });
  move_devices(machine, at);
  move_paths(machine, at);
  sort_parts(machine.numa_distances, [](const NumaDistance& d) { return std::tuple(d.host, d.from, d.to); });
  sort_parts(machine.links, [](const Link& link) {
    return std::tuple(link.gpu, link.kind, link.end, link.peer, link.target);
  });
  sort_parts(machine.stated_paths, [](const StatedPath& path) { return std::tuple(path.from, path.to); });
  sort_parts(machine.p2p,
             [](const P2pStatus& status) { return std::tuple(status.from, status.to, status.capability); });
}

}  // namespace ringcomm::inline v0::topology
