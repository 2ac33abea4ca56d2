// SPDX-License-Identifier: Apache-2.0
// The path between every two devices of a machine: class, bandwidth, what it crosses, and why.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/topology/cost_model.hpp"
#include "ringcomm/topology/machine.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Something that several paths share: a PCIe bridge's uplink, a socket link, a switch.
struct SharedLink {
  std::string name{};  ///< "PCIe uplink 0000:3b:00.0", "NUMA0-NUMA1"
  Bandwidth bandwidth{};
};

struct Path {
  PathClass path_class = PathClass::unknown;
  std::optional<int> nvlinks{};  ///< of this pair; with a switch: of the weaker end
  Bandwidth bandwidth{};
  std::optional<double> alpha_us{};
  std::vector<int> crosses{};  ///< positions in PathMatrix::shared, in order
  std::string reason{};        ///< "stated by topo.txt:4", "one bridge 0000:3b:00.0", or why it is unknown
};

/// GPUs, then NICs, then the NUMA nodes that have CPUs, each in the machine's order.
struct PathMatrix {
  std::vector<DeviceRef> devices{};
  std::vector<SharedLink> shared{};
  std::vector<Path> paths{};  ///< [devices * devices], from * devices + to

  const Path& at(std::size_t from, std::size_t to) const { return paths[(from * devices.size()) + to]; }
  /// Position of a device, or devices.size().
  std::size_t find(DeviceRef device) const;
};

/// Stated paths win; else NVLinks (over switches: every two GPUs that reach one switch domain), then the PCIe
/// tree, then NUMA. What cannot be derived is PathClass::unknown with the reason.
PathMatrix derive_paths(const Machine& machine, const CostModel& costs);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
