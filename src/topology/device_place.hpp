// SPDX-License-Identifier: Apache-2.0
// Where a device sits: its chain of PCI bridges and the NUMA node whose CPUs are near it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ringcomm/topology/machine.hpp"

namespace ringcomm::inline v0::topology {

struct DevicePlace {
  DeviceRef device{};
  int host = 0;
  std::optional<PciBusId> bus{};
  std::vector<int> chain{};      ///< positions in Machine::pci: the device, the bridge above it, ... the root
  std::optional<int> numa_id{};  ///< os id of a node with CPUs; absent: unknown
  std::optional<int> node{};     ///< its position in Machine::numa_nodes, where the machine lists it
};

/// A node that a rank may be bound to. Nodes that are a GPU's memory, or have no CPUs, are not.
bool has_cpus(const NumaNode& node);
std::optional<int> find_node(const Machine& machine, int host, int numa_id);
/// The node itself when it has CPUs, else the nearest one that has, by NUMA distance; nothing when unknown.
std::optional<int> nearest_node_with_cpus(const Machine& machine, int node);

/// A device's own NUMA id counts first, then its bridges', then its list of near CPUs; on a host with one
/// node, that node, unless a GPU's CPUs show that it is not the only one.
DevicePlace place_of(const Machine& machine, DeviceRef device);

/// (host, NUMA node, bus id or index): the order in which planning visits equal devices, so that no result
/// depends on how GPUs are numbered.
bool comes_before(const Machine& machine, const DevicePlace& a, const DevicePlace& b);

}  // namespace ringcomm::inline v0::topology
