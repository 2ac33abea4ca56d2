// SPDX-License-Identifier: Apache-2.0
// Configuration spaces written by hand from the layout in the PCI Express specification.
#include "topology/readers/pci_config.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ringcomm {
namespace {

using Bytes = std::vector<unsigned char>;

/// A bridge with a power management capability at 0x40, PCI Express at 0x60, and at 0x100 AER, at 0x150 ACS.
Bytes bridge(unsigned device_control, unsigned acs_control) {
  Bytes config(4096, 0);
  config[0] = 0xde;
  config[1] = 0x10;
  config[6] = 0x10;
  config[0x34] = 0x40;
  config[0x40] = 0x01;
  config[0x41] = 0x60;
  config[0x60] = 0x10;
  config[0x68] = static_cast<unsigned char>(device_control);
  config[0x69] = static_cast<unsigned char>(device_control >> 8);
  config[0x100] = 0x01;
  config[0x102] = 0x01;
  config[0x103] = 0x15;
  config[0x150] = 0x0d;
  config[0x152] = 0x01;
  config[0x156] = static_cast<unsigned char>(acs_control);
  return config;
}

TEST(PciConfigTest, DeviceControl) {
  PciDevice device;
  topology::read_pci_config(bridge(0x5030, 0), device);  // MRRS 4096, MPS 256, relaxed ordering
  EXPECT_EQ(device.max_read_request_bytes, 4096);
  EXPECT_EQ(device.max_payload_bytes, 256);
  EXPECT_EQ(device.relaxed_ordering, true);
  PciDevice other;
  topology::read_pci_config(bridge(0x2000, 0), other);
  EXPECT_EQ(other.max_read_request_bytes, 512);
  EXPECT_EQ(other.relaxed_ordering, false);
}

TEST(PciConfigTest, SourceValidationAloneDoesNotRedirect) {
  PciDevice device;
  topology::read_pci_config(bridge(0, 0x01), device);
  ASSERT_TRUE(device.acs);
  EXPECT_TRUE(device.acs->source_validation);
  EXPECT_FALSE(device.acs->redirects());
  for (const unsigned bit : {0x04U, 0x08U, 0x10U}) {
    PciDevice redirecting;
    topology::read_pci_config(bridge(0, bit), redirecting);
    EXPECT_TRUE(redirecting.acs->redirects()) << bit;
  }
}

TEST(PciConfigTest, WithoutRootNothingIsKnown) {
  Bytes config = bridge(0x5030, 0x1d);
  config.resize(64);
  PciDevice device;
  topology::read_pci_config(config, device);
  EXPECT_FALSE(device.acs || device.relaxed_ordering || device.max_payload_bytes);
  config = bridge(0x5030, 0x1d);
  config.resize(256);
  topology::read_pci_config(config, device);
  EXPECT_FALSE(device.acs);
  EXPECT_EQ(device.max_payload_bytes, 256);
}

TEST(PciConfigTest, DamagedSpacesEnd) {
  PciDevice device;
  Bytes loop = bridge(0, 0);
  loop[0x41] = 0x40;   // a capability that follows itself
  loop[0x103] = 0x10;  // so does this one
  topology::read_pci_config(loop, device);
  topology::read_pci_config(Bytes(4096, 0xff), device);
  EXPECT_FALSE(device.acs || device.relaxed_ordering);
}

}  // namespace
}  // namespace ringcomm
