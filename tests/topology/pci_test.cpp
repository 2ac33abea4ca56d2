// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/topology/pci.hpp"

#include <gtest/gtest.h>

namespace ringcomm {
namespace {

TEST(PciBusIdTest, ReadsWhatToolsWrite) {
  EXPECT_EQ(parse_pci_bus_id("3b:00.0").value().to_text(), "0000:3b:00.0");
  EXPECT_EQ(parse_pci_bus_id("00000000:3B:00.0").value().to_text(), "0000:3b:00.0");
  EXPECT_EQ(parse_pci_bus_id("0008:01:1f.7").value(), (PciBusId{8, 1, 0x1f, 7}));
  EXPECT_TRUE(parse_pci_bus_id("fffffff:ff:ff.0").value().is_hidden_switch());
}

TEST(PciBusIdTest, RefusesOtherText) {
  for (const char* const bad : {"", ":", "3b", "3b:00", "3b:00.", "0000:3b:00.0.1", "zz:00.0", "100:00.0",
                                "3b:00.10", "123456789:3b:00.0", "-1:00.0"})
    EXPECT_EQ(parse_pci_bus_id(bad).status().code(), StatusCode::corrupt_data) << bad;
}

TEST(PciBusIdTest, PackedFormOfLogs) {
  EXPECT_EQ(parse_packed_bus_id("51000").value().to_text(), "0000:51:00.0");
  EXPECT_EQ(parse_packed_bus_id("0x901000").value().to_text(), "0009:01:00.0");
  for (const char* const bad : {"", "0x", "xyz", "12345678901234"})
    EXPECT_FALSE(parse_packed_bus_id(bad).is_ok()) << bad;
}

TEST(PciLinkTest, UnknownIsNeverZero) {
  EXPECT_FALSE((PciLink{.gt_per_s = {}, .width = 16}).gb_per_s());
  EXPECT_FALSE((PciLink{.gt_per_s = 8, .width = {}}).gb_per_s());
  EXPECT_NEAR((PciLink{.gt_per_s = 8, .width = 16}).gb_per_s().value(), 15.754, 1e-3);
  EXPECT_NEAR((PciLink{.gt_per_s = 2.5, .width = 1}).gb_per_s().value(), 0.25, 1e-9);
  EXPECT_NEAR((PciLink{.gt_per_s = 32, .width = 16}).gb_per_s().value(), 63.0, 0.1);
}

TEST(PciLinkTest, SpeedsAsWritten) {
  for (const char* const text : {"32 GT/s", "32.0 GT/s PCIe", "32 GT/s PCIe/s", "32GT/s"})
    EXPECT_EQ(parse_link_speed(text), 32.0) << text;
  for (const char* const text : {"", "Unknown", "GT/s", "0 GT/s", "-8 GT/s", "8", "nan GT/s"})
    EXPECT_FALSE(parse_link_speed(text)) << text;
}

TEST(WhereTest, LineIsShownWhereThereIsOne) {
  EXPECT_EQ((Where{"f", 3}).to_text(), "f:3");
  EXPECT_EQ((Where{"f", 0}).to_text(), "f");
}

TEST(AcsControlTest, SourceValidationAloneIsHarmless) {
  EXPECT_FALSE((AcsControl{.source_validation = true}).redirects());
  EXPECT_TRUE((AcsControl{.request_redirect = true}).redirects());
}

TEST(PciLinkTest, StatedBandwidthCountsOnlyWhereSpeedOrWidthIsUnknown) {
  PciLink link;
  EXPECT_FALSE(link.gb_per_s());
  link.stated_gb_per_s = 15.75;
  link.width = 16;
  EXPECT_EQ(link.gb_per_s(), 15.75);
  link.gt_per_s = 32;
  EXPECT_NEAR(*link.gb_per_s(), 63.015, 1e-3);
}

}  // namespace
}  // namespace ringcomm
