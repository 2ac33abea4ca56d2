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
  bool is_switched = false;      ///< those NVLinks end in switches, which all pairs share
  Bandwidth bandwidth{};
  std::optional<double> alpha_us{};
  std::vector<int> crosses{};  ///< positions in PathMatrix::shared, in order
  std::string reason{};        ///< "stated by topo.txt:4", "one bridge 0000:3b:00.0", or why it is unknown
};

/// A matrix holds every pair: beyond this many devices the rest is left out (PathMatrix::left_out).
inline constexpr std::size_t kPathDevicesMax = 512;

/// GPUs, then NICs, then the NUMA nodes that have CPUs, each in the machine's order.
struct PathMatrix {
  std::vector<DeviceRef> devices{};
  std::vector<SharedLink> shared{};
  std::vector<Path> paths{};  ///< [devices * devices], from * devices + to
  /// Devices beyond kPathDevicesMax, of which no path is known and which no plan visits.
  std::vector<DeviceRef> left_out{};

  const Path& at(std::size_t from, std::size_t to) const { return paths[(from * devices.size()) + to]; }
  /// Position of a device, or devices.size().
  std::size_t find(DeviceRef device) const;
};

/// Stated paths win; else NVLinks (over switches: every two GPUs that reach one switch domain), then the PCIe
/// tree, then NUMA; a GPU in between (NVB, PXN) where that is better. What cannot be derived is
/// PathClass::unknown with the reason. A bandwidth is that of the slowest link crossed and absent as soon as
/// one of them is unknown; `reason` names both. Shared links have a direction ("... up", "NUMA0->NUMA1"), so
/// that edges of a ring that pass each other do not share. Measured costs (CostModel::from_json) replace what
/// is derived for the kind of pair that was measured. Cost: devices squared, detours GPUs cubed.
PathMatrix derive_paths(const Machine& machine, const CostModel& costs);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
