// SPDX-License-Identifier: Apache-2.0
#include "topology/device_place.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "topology/readers/reader.hpp"

namespace ringcomm::inline v0::topology {
namespace {

/// What GPUs and NICs have in common.
struct Hint {
  std::optional<int> numa_id{};
  const std::vector<int>* cpus = nullptr;
};

std::vector<int> chain_above(const Machine& machine, std::optional<int> pci, int host) {
  std::vector<int> chain;
  while (pci && *pci >= 0 && static_cast<std::size_t>(*pci) < machine.pci.size()) {
    const auto& device = machine.pci[static_cast<std::size_t>(*pci)];
    // A chain that is too long goes in a circle.
    if (device.host != host || chain.size() >= kDepthMax) return {};
    chain.push_back(*pci);
    pci = device.parent;
  }
  return chain;
}

std::optional<int> node_of_cpus(const Machine& machine, int host, const std::vector<int>& cpus) {
  std::optional<int> found;
  for (std::size_t i = 0; i < machine.numa_nodes.size(); ++i) {
    const auto& node = machine.numa_nodes[i];
    if (node.host != host || !node.cpus || !has_cpus(node)) continue;
    const bool shares = std::ranges::any_of(
        cpus, [&](int cpu) { return std::binary_search(node.cpus->begin(), node.cpus->end(), cpu); });
    if (!shares) continue;
    if (found) return std::nullopt;  // near CPUs of several nodes say nothing
    found = static_cast<int>(i);
  }
  return found;
}

/// A GPU with CPUs that no listed node has: there are more nodes than the source lists.
bool lists_all_nodes(const Machine& machine, int host) {
  return std::ranges::none_of(machine.gpus, [&](const Gpu& gpu) {
    return gpu.host == host && gpu.cpus && std::ranges::any_of(*gpu.cpus, [&](int cpu) {
             return std::ranges::none_of(machine.numa_nodes, [&](const NumaNode& node) {
               return node.host == host && node.cpus && std::ranges::binary_search(*node.cpus, cpu);
             });
           });
  });
}

std::optional<int> only_node(const Machine& machine, int host) {
  std::optional<int> found;
  for (std::size_t i = 0; i < machine.numa_nodes.size(); ++i) {
    if (machine.numa_nodes[i].host != host || !has_cpus(machine.numa_nodes[i])) continue;
    if (found) return std::nullopt;
    found = static_cast<int>(i);
  }
  if (!found || !lists_all_nodes(machine, host)) return std::nullopt;
  return found;
}

void settle(const Machine& machine, DevicePlace& place, const Hint& hint) {
  std::optional<int> id = hint.numa_id;
  for (std::size_t i = 0; i < place.chain.size() && !id; ++i) {
    id = machine.pci[static_cast<std::size_t>(place.chain[i])].numa_node;
  }
  std::optional<int> node = id ? find_node(machine, place.host, *id) : std::nullopt;
  if (id && !node) {
    place.numa_id = id;  // a label is enough to tell two places apart
    return;
  }
  if (node) node = nearest_node_with_cpus(machine, *node);
  if (!node && hint.cpus != nullptr) node = node_of_cpus(machine, place.host, *hint.cpus);
  if (!node && !id) node = only_node(machine, place.host);
  if (!node) return;
  place.node = node;
  place.numa_id = machine.numa_nodes[static_cast<std::size_t>(*node)].id;
}

}  // namespace

bool has_cpus(const NumaNode& node) { return !node.is_memory_only() && node.subtype != "GPUMemory"; }

std::optional<int> find_node(const Machine& machine, int host, int numa_id) {
  for (std::size_t i = 0; i < machine.numa_nodes.size(); ++i) {
    if (machine.numa_nodes[i].host == host && machine.numa_nodes[i].id == numa_id) return static_cast<int>(i);
  }
  return std::nullopt;
}

std::optional<int> nearest_node_with_cpus(const Machine& machine, int node) {
  const auto& start = machine.numa_nodes[static_cast<std::size_t>(node)];
  if (has_cpus(start)) return node;
  std::optional<int> nearest;
  int least = std::numeric_limits<int>::max();
  for (const auto& distance : machine.numa_distances) {
    if (distance.host != start.host || distance.from != start.id || distance.value >= least) continue;
    const auto other = find_node(machine, start.host, distance.to);
    if (!other || !has_cpus(machine.numa_nodes[static_cast<std::size_t>(*other)])) continue;
    nearest = other;
    least = distance.value;
  }
  return nearest;
}

DevicePlace place_of(const Machine& machine, DeviceRef device) {
  DevicePlace place{.device = device};
  const auto position = static_cast<std::size_t>(device.position);
  if (device.kind == PartKind::numa_node) {
    place.host = machine.numa_nodes[position].host;
    place.node = device.position;
    place.numa_id = machine.numa_nodes[position].id;
    return place;
  }
  Hint hint;
  std::optional<int> pci;
  if (device.kind == PartKind::gpu) {
    const auto& gpu = machine.gpus[position];
    place.host = gpu.host;
    place.bus = gpu.bus;
    pci = gpu.pci;
    hint = {.numa_id = gpu.numa_node, .cpus = gpu.cpus ? &*gpu.cpus : nullptr};
  } else {
    const auto& nic = machine.nics[position];
    place.host = nic.host;
    place.bus = nic.bus;
    pci = nic.pci;
    hint.numa_id = nic.numa_node;
  }
  place.chain = chain_above(machine, pci, place.host);
  if (!place.bus && !place.chain.empty())
    place.bus = machine.pci[static_cast<std::size_t>(place.chain.front())].id;
  settle(machine, place, hint);
  return place;
}

bool comes_before(const Machine& machine, const DevicePlace& a, const DevicePlace& b) {
  const auto key = [&](const DevicePlace& place) {
    const auto position = static_cast<std::size_t>(place.device.position);
    const int index =
        place.device.kind == PartKind::gpu ? machine.gpus[position].index : place.device.position;
    return std::tuple(place.host, place.numa_id.value_or(std::numeric_limits<int>::max()),
                      !place.bus.has_value(), place.bus.value_or(PciBusId{}), index, place.device.position);
  };
  return key(a) < key(b);
}

}  // namespace ringcomm::inline v0::topology
