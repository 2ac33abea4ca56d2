// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/pci_names.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/parse.hpp"
#include "topology/readers/pci_class.hpp"

namespace ringcomm::inline v0::topology {
namespace {

/// Numbers: PCI Code and ID Assignment Specification; words: what lspci prints for them (pci.ids).
constexpr auto kClasses = std::to_array<std::pair<std::string_view, std::uint16_t>>({
    {"Non-VGA unclassified device", 0x0000},
    {"Unclassified device", 0x00ff},
    {"SCSI storage controller", 0x0100},
    {"IDE interface", 0x0101},
    {"RAID bus controller", 0x0104},
    {"SATA controller", 0x0106},
    {"Serial Attached SCSI controller", 0x0107},
    {"Non-Volatile memory controller", 0x0108},
    {"Mass storage controller", 0x0180},
    {"Ethernet controller", 0x0200},
    {"Infiniband controller", 0x0207},
    {"Fabric controller", 0x0208},
    {"Network controller", 0x0280},
    {"VGA compatible controller", 0x0300},
    {"XGA compatible controller", 0x0301},
    {"3D controller", 0x0302},
    {"Display controller", 0x0380},
    {"Multimedia video controller", 0x0400},
    {"Multimedia audio controller", 0x0401},
    {"Audio device", 0x0403},
    {"Multimedia controller", 0x0480},
    {"RAM memory", 0x0500},
    {"FLASH memory", 0x0501},
    {"CXL", 0x0502},
    {"Memory controller", 0x0580},
    {"Host bridge", 0x0600},
    {"ISA bridge", 0x0601},
    {"PCI bridge", 0x0604},
    {"Semi-transparent PCI-to-PCI bridge", 0x0609},
    {"InfiniBand to PCI host bridge", 0x060a},
    {"Bridge", 0x0680},
    {"Serial controller", 0x0700},
    {"Communication controller", 0x0780},
    {"PIC", 0x0800},
    {"DMA controller", 0x0801},
    {"SD Host controller", 0x0805},
    {"IOMMU", 0x0806},
    {"System peripheral", 0x0880},
    {"Co-processor", 0x0b40},
    {"USB controller", 0x0c03},
    {"SMBus", 0x0c05},
    {"InfiniBand", 0x0c06},
    {"IPMI Interface", 0x0c07},
    {"IPMI SMIC interface", 0x0c07},
    {"Serial bus controller", 0x0c80},
    {"Encryption controller", 0x1080},
    {"Network and computing encryption device", 0x1000},
    {"Performance counters", 0x1101},
    {"Signal processing controller", 0x1180},
    {"Processing accelerators", 0x1200},
    {"Non-Essential Instrumentation", 0x1300},
    {"Unassigned class [ff00]", 0xff00},
});

constexpr auto kVendors = std::to_array<PciVendor>({
    {0x1000, "Broadcom / LSI"},
    {0x1000, "LSI Logic / Symbios Logic"},
    {0x1002, "Advanced Micro Devices, Inc. [AMD/ATI]"},
    {0x1014, "IBM"},
    {0x102b, "Matrox Electronics Systems Ltd."},
    {0x1022, "Advanced Micro Devices, Inc. [AMD]"},
    {0x104c, "Texas Instruments"},
    {0x10b5, "PLX Technology, Inc."},
    {0x10de, "NVIDIA Corporation"},
    {0x11f8, "PMC-Sierra Inc."},
    {0x11f8, "Microsemi / PMC / IDT"},
    {0x144d, "Samsung Electronics Co Ltd"},
    {0x14e4, "Broadcom Inc. and subsidiaries"},
    {0x14e4, "Broadcom Limited"},
    {0x1556, "PLDA"},
    {0x15b3, "Mellanox Technologies"},
    {0x17db, "Cray Inc"},
    {0x1a03, "ASPEED Technology, Inc."},
    {0x1af4, "Red Hat, Inc."},
    {0x1c36, "Annapurna Labs Ltd."},
    {0x1d0f, "Amazon.com, Inc."},
    {0x8086, "Intel Corporation"},
});

}  // namespace

std::optional<std::uint16_t> pci_class_of(std::string_view words) {
  for (const auto& [name, code] : kClasses) {
    if (equals_ignoring_case(words, name)) return code;
  }
  return std::nullopt;
}

std::optional<PciVendor> pci_vendor_of(std::string_view text) {
  for (const PciVendor& vendor : kVendors) {
    if (text.starts_with(vendor.name)) return vendor;
  }
  return std::nullopt;
}

GpuVendor gpu_vendor_of(std::optional<std::uint16_t> vendor, std::uint16_t pci_class) {
  return is_gpu_class(std::uint32_t{pci_class} << 8) ? gpu_vendor_of(vendor) : GpuVendor::unknown;
}

bool is_rdma_nic(std::optional<std::uint16_t> vendor, std::uint16_t pci_class, std::string_view words) {
  if (is_infiniband_class(std::uint32_t{pci_class} << 8) || pci_class == 0x0208) return true;
  if (pci_class != 0x0200 && pci_class != 0x0280) return false;
  // Mellanox and Cray (Slingshot) sell nothing else; of Amazon's, only the adapter that says so.
  return vendor == 0x15b3 || vendor == 0x17db || words.find("EFA") != std::string_view::npos ||
         words.find("Elastic Fabric Adapter") != std::string_view::npos;
}

}  // namespace ringcomm::inline v0::topology
