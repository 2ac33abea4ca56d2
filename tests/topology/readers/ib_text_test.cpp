// SPDX-License-Identifier: Apache-2.0
// What ibstat, ibstatus, ibv_devinfo and GID tables have in common. Oracle: what a person reads off the text.
#include <gtest/gtest.h>

#include <map>

#include "topology/readers/evidence_text.hpp"
#include "topology/readers/gid_table.hpp"
#include "topology/readers/ib_fields.hpp"
#include "topology/readers/ibstat.hpp"
#include "topology/readers/ibstatus.hpp"
#include "topology/readers/ibv_devinfo.hpp"

namespace ringcomm {
namespace {

using testing::has_skipped;
using testing::skipped_text;
namespace readers = topology;

Reading value_of(Result<Reading> reading) {
  EXPECT_TRUE(reading.is_ok()) << reading.status().message();
  return reading.is_ok() ? std::move(reading).value() : Reading{};
}

std::string own_text(const std::string& name) { return testing::read_text(testing::kOwnData + "ib/" + name); }

TEST(IbTextTest, WordsOfAllTools) {
  for (const std::string_view text : {"4: ACTIVE", "PORT_ACTIVE (4)", "Active"})
    EXPECT_EQ(readers::parse_port_state(text), PortState::active) << text;
  EXPECT_EQ(readers::parse_port_state("PORT_INIT (2)"), PortState::initializing);
  EXPECT_EQ(readers::parse_port_state("1: DOWN"), PortState::down);
  for (const std::string_view text : {"", "5: ACTIVE_DEFER", "4", "(4)"})
    EXPECT_FALSE(readers::parse_port_state(text)) << text;
  for (const std::string_view text : {"5: LinkUp", "LINK_UP (5)", "LinkUp"})
    EXPECT_EQ(readers::parse_phys_state(text), PhysState::link_up) << text;
  EXPECT_EQ(readers::parse_phys_state("4: PortConfigurationTraining"), PhysState::training);
  EXPECT_FALSE(readers::parse_phys_state("7: Phy Test"));
  EXPECT_EQ(readers::parse_port_rate("400 Gb/sec (4X NDR)"), 400.0);
  EXPECT_EQ(readers::parse_port_rate("2.5"), 2.5);
  for (const std::string_view text : {"", "0", "-1", "nan", "fast", "10 Mb/sec", "1e9"})
    EXPECT_FALSE(readers::parse_port_rate(text)) << text;
}

TEST(IbTextTest, Ibstat) {
  const std::string text = own_text("ibstat-two.txt");
  EXPECT_TRUE(readers::ibstat::looks_like(text));
  const Reading reading = value_of(readers::ibstat::read(text, "ib.txt"));
  ASSERT_EQ(reading.machine.nics.size(), 2U);
  const Nic& nic = reading.machine.nics[0];
  EXPECT_EQ(nic.model, "MT4127");
  EXPECT_EQ(nic.guid, "0x0200000000000003");
  ASSERT_EQ(nic.ports.size(), 2U);
  EXPECT_EQ(nic.ports[0].state, PortState::active);
  EXPECT_EQ(nic.ports[0].lid, 12);
  EXPECT_EQ(nic.ports[0].where.line, 9);
  EXPECT_EQ(nic.ports[1].state, PortState::initializing);
  EXPECT_EQ(nic.ports[1].phys_state, PhysState::training);
  EXPECT_EQ(nic.ports[1].gbit_per_s, 56.5);
  EXPECT_FALSE(nic.ports[1].lid);
  EXPECT_TRUE(reading.machine.nics[1].ports.empty());
  EXPECT_TRUE(has_skipped(reading, 24, "unknown")) << "an entry that ends early is unknown, not down";
  EXPECT_TRUE(has_skipped(reading, 1, "no line of ibstat"));
  EXPECT_EQ(reading.skipped.size(), 2U) << skipped_text(reading);
}

TEST(IbTextTest, IbstatusAndValuesThatAreNotUnderstood) {
  const std::string text = own_text("ibstatus-two.txt");
  EXPECT_TRUE(readers::ibstatus::looks_like(text));
  const Reading reading = value_of(readers::ibstatus::read(text, "ib.txt"));
  ASSERT_EQ(reading.machine.nics.size(), 1U) << "two ports of one device";
  const auto& ports = reading.machine.nics[0].ports;
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(ports[0].lid, 28);
  EXPECT_EQ(ports[0].rate_text, "100 Gb/sec (4X EDR)");
  ASSERT_EQ(ports[0].gids.size(), 1U);
  EXPECT_EQ(ports[1].number, 2);
  EXPECT_EQ(ports[1].state, PortState::unknown);
  EXPECT_EQ(ports[1].phys_state, PhysState::polling);
  EXPECT_EQ(ports[1].link_layer, LinkLayer::unknown);
  EXPECT_FALSE(ports[1].lid || ports[1].gbit_per_s);
  for (const int line : {11, 12, 13, 15, 16}) EXPECT_TRUE(has_skipped(reading, line, "")) << line;
  EXPECT_EQ(reading.skipped.size(), 5U) << skipped_text(reading);
}

TEST(IbTextTest, DevinfoVerbose) {
  const std::string text = own_text("devinfo-verbose.txt");
  EXPECT_TRUE(readers::ibv_devinfo::looks_like(text));
  EXPECT_FALSE(readers::gid_table::looks_like(text));
  const Reading reading = value_of(readers::ibv_devinfo::read(text, "ib.txt"));
  ASSERT_EQ(reading.machine.nics.size(), 2U);
  const Nic& nic = reading.machine.nics[0];
  EXPECT_EQ(nic.model, "MT4125") << "as the kernel's hca_type";
  EXPECT_EQ(nic.firmware, "22.3.4");
  ASSERT_EQ(nic.ports.size(), 1U);
  EXPECT_EQ(nic.ports[0].active_mtu_bytes, 1024);
  EXPECT_EQ(nic.ports[0].max_mtu_bytes, 4096);
  EXPECT_EQ(nic.ports[0].link_layer, LinkLayer::ethernet);
  ASSERT_EQ(nic.ports[0].gids.size(), 2U) << "an empty entry is no GID";
  EXPECT_EQ(nic.ports[0].gids[1].address, "::ffff:10.1.2.3");
  EXPECT_TRUE(has_skipped(reading, 24, "no IPv6")) << skipped_text(reading);
  EXPECT_TRUE(has_skipped(reading, 26, "unknown")) << skipped_text(reading);
  EXPECT_TRUE(reading.machine.nics[1].ports.empty());
  EXPECT_EQ(reading.skipped.size(), 2U) << skipped_text(reading);
}

TEST(IbTextTest, ShowGids) {
  const std::string text = own_text("show-gids.txt");
  EXPECT_TRUE(readers::gid_table::looks_like(text));
  const Reading reading = value_of(readers::gid_table::read(text, "ib.txt"));
  ASSERT_EQ(reading.machine.nics.size(), 2U);
  const auto& gids = reading.machine.nics[0].ports[0].gids;
  ASSERT_EQ(gids.size(), 2U);
  EXPECT_EQ(gids[0].type, "IB/RoCE v1");
  EXPECT_EQ(gids[1].index, 3);
  EXPECT_EQ(gids[1].address, "::ffff:10.0.0.5");
  EXPECT_EQ(gids[1].type, "RoCE v2");
  EXPECT_EQ(gids[1].net_device, "ens1f0");
  EXPECT_EQ(reading.machine.nics[1].ports[0].number, 2);
  EXPECT_TRUE(reading.skipped.empty()) << skipped_text(reading);
}

TEST(IbTextTest, GidLinesWithoutTheirDevice) {
  const Reading reading = value_of(readers::gid_table::read("GID[  5]:\t\tfe80::1, RoCE v2\n", "ib.txt"));
  ASSERT_EQ(reading.machine.nics.size(), 1U);
  EXPECT_EQ(reading.machine.nics[0].name, "");
  EXPECT_EQ(reading.machine.nics[0].ports[0].gids[0].index, 5);
  EXPECT_TRUE(has_skipped(reading, 1, "is not shown"));
}

TEST(IbTextTest, AMissingIdIsCorrupt) {
  const auto expect_corrupt = [](const Result<Reading>& reading) {
    ASSERT_FALSE(reading.is_ok());
    EXPECT_EQ(reading.status().code(), StatusCode::corrupt_data);
    EXPECT_NE(reading.status().message().find("ib.txt"), std::string::npos);
  };
  expect_corrupt(readers::ibstat::read("CA ''\n", "ib.txt"));
  expect_corrupt(readers::ibstat::read("CA 'a'\n Port :\n", "ib.txt"));
  expect_corrupt(readers::ibstat::read("", "ib.txt"));
  expect_corrupt(readers::ibstatus::read("Infiniband device '' port 1 status:\n", "ib.txt"));
  expect_corrupt(readers::ibstatus::read("Infiniband device 'a' port  status:\n", "ib.txt"));
  expect_corrupt(readers::ibv_devinfo::read("hca_id:\n", "ib.txt"));
  expect_corrupt(readers::ibv_devinfo::read("hca_id: a\n port:\n", "ib.txt"));
  expect_corrupt(readers::ibv_devinfo::read("hca_id: a\n port: 1\n GID[  ]: fe80::1\n", "ib.txt"));
  expect_corrupt(readers::gid_table::read("DEV PORT INDEX GID\n 1 0 fe80::1 v1\n", "ib.txt"));
}

TEST(IbTextTest, HostileTextIsBounded) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "hca_id: a" + std::to_string(i) + "\nport: 1\n";
  const Reading many = value_of(readers::ibv_devinfo::read(text, "ib.txt"));
  EXPECT_EQ(many.machine.nics.size(), 4096U);
  EXPECT_LE(many.skipped.size(), 1001U);
  text = "hca_id: a\n";
  for (int i = 0; i < 20000; ++i) text += "port: " + std::to_string(i) + "\nGID[0]: fe80::1\n";
  EXPECT_LE(value_of(readers::ibv_devinfo::read(text, "ib.txt")).machine.nics[0].ports.size(), 256U);
  text = "hca_id: a\nport: 1\n";
  for (int i = 0; i < 20000; ++i) text += "GID[" + std::to_string(i) + "]: fe80::1\n";
  EXPECT_EQ(value_of(readers::ibv_devinfo::read(text, "ib.txt")).machine.nics[0].ports[0].gids.size(), 1024U);
  value_of(readers::ibstat::read(std::string("CA 'a\xff'\n Port 1:\n\0State: \xc3\n", 27), "ib.txt"));
}

}  // namespace
}  // namespace ringcomm
