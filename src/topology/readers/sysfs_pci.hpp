// SPDX-License-Identifier: Apache-2.0
// The PCI tree and memory nodes of a live Linux from /sys: what hwloc does not tell (links of every bridge,
// ACS), or all of it where there is no hwloc.
#pragma once

#include <filesystem>

#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::topology::sysfs_pci {

/// Bridges, GPUs, NICs and NVSwitches below root/sys/bus/pci/devices, in bus order; GPUs are display
/// controllers of GPU makers that a driver serves. Memory nodes of root/sys/devices/system/node. What cannot
/// be read is unknown, and said where that is not the rule (ACS without root).
Reading read(const std::filesystem::path& root);

}  // namespace ringcomm::inline v0::topology::sysfs_pci
