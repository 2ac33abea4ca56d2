// SPDX-License-Identifier: Apache-2.0
// What PCI classes and vendors say of a device (PCI Code and ID Assignment Specification).
#pragma once

#include <cstdint>
#include <optional>

#include "ringcomm/topology/machine.hpp"

namespace ringcomm::inline v0::topology {

inline bool is_bridge_class(std::uint32_t class_code) { return class_code >> 8 == 0x0604; }
/// NVSwitches are "other bridges" of NVIDIA's.
inline bool is_nvswitch_class(std::uint32_t class_code) { return class_code >> 8 == 0x0680; }
/// Display controllers and processing accelerators.
inline bool is_gpu_class(std::uint32_t class_code) {
  const std::uint32_t base = class_code >> 8;
  return base == 0x0300 || base == 0x0302 || base == 0x0380 || base == 0x1200;
}
/// InfiniBand has two classes: 0x0207, and 0x0c06 on old cards.
inline bool is_infiniband_class(std::uint32_t class_code) {
  return class_code >> 8 == 0x0207 || class_code >> 8 == 0x0c06;
}
inline bool is_nic_class(std::uint32_t class_code) {
  return class_code >> 8 == 0x0200 || is_infiniband_class(class_code);
}
inline GpuVendor gpu_vendor_of(std::optional<std::uint16_t> pci_vendor) {
  switch (pci_vendor.value_or(0)) {
    case 0x10de:
      return GpuVendor::nvidia;
    case 0x1002:
      return GpuVendor::amd;
    case 0x8086:
      return GpuVendor::intel;
    default:
      return GpuVendor::unknown;
  }
}

}  // namespace ringcomm::inline v0::topology
