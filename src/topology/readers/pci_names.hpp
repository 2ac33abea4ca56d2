// SPDX-License-Identifier: Apache-2.0
// The words by which lspci names classes and vendors, as their numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ringcomm/topology/machine.hpp"

namespace ringcomm::inline v0::topology {

/// "PCI bridge" -> 0x0604; nothing for words that are not in the table.
std::optional<std::uint16_t> pci_class_of(std::string_view words);
/// The vendor whose name `text` begins with.
struct PciVendor {
  std::uint16_t id = 0;
  std::string_view name{};
};
std::optional<PciVendor> pci_vendor_of(std::string_view text);

/// A GPU by vendor and class (the first 16 bits); a BMC's display is none.
GpuVendor gpu_vendor_of(std::optional<std::uint16_t> vendor, std::uint16_t pci_class);
/// A network card that can do RDMA, as far as vendor, class and words tell.
bool is_rdma_nic(std::optional<std::uint16_t> vendor, std::uint16_t pci_class, std::string_view words);

}  // namespace ringcomm::inline v0::topology
