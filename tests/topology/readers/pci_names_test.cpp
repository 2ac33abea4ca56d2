// SPDX-License-Identifier: Apache-2.0
// Oracle: the numbers in the PCI id repository.
#include "topology/readers/pci_names.hpp"

#include <gtest/gtest.h>

namespace ringcomm {
namespace {

TEST(PciNamesTest, ClassesIgnoreCaseAndKnowNoOthers) {
  EXPECT_EQ(topology::pci_class_of("3D controller"), 0x0302);
  EXPECT_EQ(topology::pci_class_of("InfiniBand controller"), 0x0207);
  EXPECT_EQ(topology::pci_class_of("Bridge"), 0x0680);
  EXPECT_FALSE(topology::pci_class_of("PCI"));
  EXPECT_FALSE(topology::pci_class_of(""));
}

TEST(PciNamesTest, VendorsByTheBeginningOfAName) {
  EXPECT_EQ(topology::pci_vendor_of("NVIDIA Corporation GH100")->id, 0x10de);
  EXPECT_EQ(topology::pci_vendor_of("Advanced Micro Devices, Inc. [AMD] Starship")->id, 0x1022);
  EXPECT_EQ(topology::pci_vendor_of("Advanced Micro Devices, Inc. [AMD/ATI] Aldebaran")->id, 0x1002);
  EXPECT_FALSE(topology::pci_vendor_of("Acme"));
}

TEST(PciNamesTest, GpusByVendorAndClass) {
  EXPECT_EQ(topology::gpu_vendor_of(0x10de, 0x0302), GpuVendor::nvidia);
  EXPECT_EQ(topology::gpu_vendor_of(0x1002, 0x1200), GpuVendor::amd);
  EXPECT_EQ(topology::gpu_vendor_of(0x8086, 0x0380), GpuVendor::intel);
  EXPECT_EQ(topology::gpu_vendor_of(0x1a03, 0x0300), GpuVendor::unknown) << "a BMC";
  EXPECT_EQ(topology::gpu_vendor_of(0x10de, 0x0680), GpuVendor::unknown) << "an NVSwitch";
  EXPECT_EQ(topology::gpu_vendor_of({}, 0x0302), GpuVendor::unknown);
}

TEST(PciNamesTest, RdmaNics) {
  EXPECT_TRUE(topology::is_rdma_nic({}, 0x0207, ""));
  EXPECT_TRUE(topology::is_rdma_nic(0x15b3, 0x0200, "MT2910"));
  EXPECT_TRUE(topology::is_rdma_nic(0x17db, 0x0200, "Device 0501"));
  EXPECT_TRUE(topology::is_rdma_nic(0x1d0f, 0x0200, "Elastic Fabric Adapter (EFA)"));
  EXPECT_FALSE(topology::is_rdma_nic(0x1d0f, 0x0200, "Elastic Network Adapter (ENA)"));
  EXPECT_FALSE(topology::is_rdma_nic(0x8086, 0x0200, "I350"));
  EXPECT_FALSE(topology::is_rdma_nic(0x15b3, 0x0801, "DMA"));
}

}  // namespace
}  // namespace ringcomm
