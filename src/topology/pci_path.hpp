// SPDX-License-Identifier: Apache-2.0
// The way between two places through the PCI tree and the CPUs.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/topology/machine.hpp"
#include "topology/device_place.hpp"

namespace ringcomm::inline v0::topology {

struct PciRoute {
  PathClass path_class = PathClass::unknown;  ///< pix, pxb, phb, node, sys
  std::vector<int> up{};    ///< positions in Machine::pci whose upstream link is crossed towards the CPU
  std::vector<int> down{};  ///< and away from it
  std::string reason{};
};

/// Trees of two kinds are understood: every port a bridge of its own (sysfs, lspci, hwloc), and one bridge
/// per switch (NCCL's XML). Two-level Broadcom pairs (1000:c010, 1000:c030) count as one switch, as in NCCL.
PciRoute pci_route(const Machine& machine, const DevicePlace& from, const DevicePlace& to);

}  // namespace ringcomm::inline v0::topology
