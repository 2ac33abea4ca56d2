// SPDX-License-Identifier: Apache-2.0
// The captured InfiniBand outputs and PCI tree. Oracle: the facts of the set's README.md.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "topology/readers/evidence_text.hpp"
#include "topology/readers/gid_table.hpp"
#include "topology/readers/ibstat.hpp"
#include "topology/readers/ibstatus.hpp"
#include "topology/readers/ibv_devinfo.hpp"
#include "topology/readers/lspci.hpp"
#include "topology/readers/sysfs_ib.hpp"

namespace ringcomm {
namespace {

using testing::has_skipped;
using testing::skipped_text;

class SharedIbLspciTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!testing::has_shared_data()) GTEST_SKIP() << "no shared data beside the source tree";
  }

  static Reading read(const std::string& name, bool (*looks_like)(std::string_view),
                      Result<Reading> (*reader)(std::string_view, const std::string&)) {
    const std::string text = testing::read_text(testing::kSharedData + name);
    EXPECT_TRUE(looks_like(text)) << name;
    auto reading = reader(text, name);
    EXPECT_TRUE(reading.is_ok()) << reading.status().message();
    return reading.is_ok() ? std::move(reading).value() : Reading{};
  }
};

TEST_F(SharedIbLspciTest, DevinfoOfAPortThatIsDownAndAnEntryThatEndsEarly) {
  const Reading reading = read("ib/ibv_devinfo-port-down-excerpt.txt", topology::ibv_devinfo::looks_like,
                               topology::ibv_devinfo::read);
  ASSERT_EQ(reading.machine.nics.size(), 2U);
  const Nic& first = reading.machine.nics[0];
  EXPECT_EQ(first.name, "mlx5_0");
  EXPECT_EQ(first.firmware, "28.39.2048");
  ASSERT_EQ(first.ports.size(), 1U);
  EXPECT_EQ(first.ports[0].state, PortState::down);
  EXPECT_EQ(first.ports[0].lid, 65535);
  EXPECT_EQ(first.ports[0].link_layer, LinkLayer::infiniband);
  EXPECT_EQ(reading.machine.nics[1].name, "mlx5_1");
  EXPECT_TRUE(reading.machine.nics[1].ports.empty()) << "unknown, not down";
  ASSERT_EQ(reading.skipped.size(), 1U) << skipped_text(reading);
  EXPECT_NE(reading.skipped[0].reason.find("unknown"), std::string::npos);
}

TEST_F(SharedIbLspciTest, IbstatOfAPollingPort) {
  const Reading reading =
      read("ib/ibstat-polling-10.txt", topology::ibstat::looks_like, topology::ibstat::read);
  ASSERT_EQ(reading.machine.nics.size(), 1U);
  const Nic& nic = reading.machine.nics[0];
  EXPECT_EQ(nic.name, "mlx5_10");
  EXPECT_EQ(nic.guid, "");
  ASSERT_EQ(nic.ports.size(), 1U);
  EXPECT_EQ(nic.ports[0].state, PortState::down);
  EXPECT_EQ(nic.ports[0].phys_state, PhysState::polling);
  EXPECT_EQ(nic.ports[0].gbit_per_s, 10.0);
  EXPECT_EQ(nic.ports[0].lid, 868);
  EXPECT_TRUE(reading.skipped.empty()) << skipped_text(reading);
}

TEST_F(SharedIbLspciTest, IbstatusOfDisabledPorts) {
  const Reading reading = read("ib/ibstatus-ports-disabled-excerpt.txt", topology::ibstatus::looks_like,
                               topology::ibstatus::read);
  ASSERT_EQ(reading.machine.nics.size(), 3U);
  for (const Nic& nic : reading.machine.nics) {
    ASSERT_EQ(nic.ports.size(), 1U) << nic.name;
    EXPECT_EQ(nic.ports[0].state, PortState::down);
    EXPECT_EQ(nic.ports[0].phys_state, PhysState::disabled);
  }
  EXPECT_EQ(reading.machine.nics[0].name, "mlx5_11");
  EXPECT_EQ(reading.machine.nics[0].ports[0].link_layer, LinkLayer::infiniband);
  EXPECT_EQ(reading.machine.nics[0].ports[0].rate_text, "10 Gb/sec (4X SDR)");
  EXPECT_EQ(reading.machine.nics[1].ports[0].link_layer, LinkLayer::ethernet);
  EXPECT_EQ(reading.machine.nics[1].ports[0].gbit_per_s, 40.0);
  EXPECT_TRUE(reading.skipped.empty()) << skipped_text(reading);
}

TEST_F(SharedIbLspciTest, GidsOfABond) {
  const Reading reading =
      read("ib/gid-table-bond.txt", topology::gid_table::looks_like, topology::gid_table::read);
  ASSERT_EQ(reading.machine.nics.size(), 1U);
  ASSERT_EQ(reading.machine.nics[0].ports.size(), 1U);
  const Port& port = reading.machine.nics[0].ports[0];
  EXPECT_EQ(port.phys_state, PhysState::link_up);
  ASSERT_EQ(port.gids.size(), 4U);
  EXPECT_EQ(port.gids[3].index, 3);
  EXPECT_EQ(port.gids[3].address, "::ffff:192.0.2.6");
  EXPECT_EQ(port.gids[3].type, "RoCE v2");
  EXPECT_EQ(port.gids[2].address, port.gids[3].address) << "both forms of the same address";
  EXPECT_EQ(port.gids[0].type, "IB/RoCE v1");
  EXPECT_EQ(port.gids[2].type, "IB/RoCE v1");
  EXPECT_EQ(port.gids[1].type, "RoCE v2");
  EXPECT_TRUE(port.gids[1].address.starts_with("fe80:"));
}

TEST_F(SharedIbLspciTest, SysfsOfNineAdapters) {
  const auto result = topology::sysfs_ib::read(testing::kSharedData + "sysfs-ib/hgx-8xndr-1bond");
  ASSERT_TRUE(result.is_ok()) << result.status().message();
  const Machine& machine = result.value().machine;
  ASSERT_EQ(machine.nics.size(), 9U);
  int infiniband = 0;
  for (const Nic& nic : machine.nics) {
    ASSERT_EQ(nic.ports.size(), 1U) << nic.name;
    const Port& port = nic.ports[0];
    EXPECT_EQ(port.state, PortState::active);
    EXPECT_EQ(port.phys_state, PhysState::link_up);
    const bool is_bond = nic.name == "mlx5_bond_0";
    EXPECT_EQ(nic.firmware, is_bond ? "32.38.3056" : "28.41.1000");
    EXPECT_EQ(port.rate_text, is_bond ? "200 Gb/sec (2X NDR)" : "400 Gb/sec (4X NDR)");
    EXPECT_EQ(port.gbit_per_s, is_bond ? 200.0 : 400.0);
    EXPECT_EQ(port.link_layer, is_bond ? LinkLayer::ethernet : LinkLayer::infiniband);
    infiniband += port.link_layer == LinkLayer::infiniband ? 1 : 0;
    EXPECT_EQ(port.counters.at("link_downed"), nic.name == "mlx5_1" ? 255U : 0U);
  }
  EXPECT_EQ(infiniband, 8);
  EXPECT_TRUE(result.value().skipped.empty()) << skipped_text(result.value());
}

std::string bus_text(const PciBusId& id) { return id.to_text().substr(5, 2); }

/// Positions of the bridges above a device.
std::set<int> above(const Machine& machine, int position) {
  std::set<int> bridges;
  for (auto parent = machine.pci[static_cast<std::size_t>(position)].parent; parent;
       parent = machine.pci[static_cast<std::size_t>(*parent)].parent)
    bridges.insert(*parent);
  return bridges;
}

TEST_F(SharedIbLspciTest, LspciPairsOfGpuAndNic) {
  const Reading reading =
      read("lspci/8xh100-sapphire-rapids-bridges.txt", topology::lspci::looks_like, topology::lspci::read);
  const Machine& machine = reading.machine;
  ASSERT_EQ(machine.gpus.size(), 8U);
  constexpr std::array<std::pair<const char*, const char*>, 8> kPairs{{{"19", "1a"},
                                                                       {"3b", "3c"},
                                                                       {"4c", "4d"},
                                                                       {"5d", "5e"},
                                                                       {"9b", "9c"},
                                                                       {"bb", "bc"},
                                                                       {"cb", "cc"},
                                                                       {"db", "dc"}}};
  for (std::size_t i = 0; i < kPairs.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    EXPECT_EQ(bus_text(*gpu.bus), kPairs[i].first);
    EXPECT_EQ(machine.pci[static_cast<std::size_t>(*gpu.pci)].link.gt_per_s, 32.0);
    EXPECT_EQ(machine.pci[static_cast<std::size_t>(*gpu.pci)].link.width, 16);
    EXPECT_EQ(machine.pci[static_cast<std::size_t>(*gpu.pci)].max_read_request_bytes, 4096);
    int partners = 0;
    for (const Nic& nic : machine.nics) {
      if (bus_text(*nic.bus) != kPairs[i].second) continue;
      ++partners;
      EXPECT_EQ(machine.pci[static_cast<std::size_t>(*nic.pci)].link.gb_per_s(),
                machine.pci[static_cast<std::size_t>(*gpu.pci)].link.gb_per_s());
      std::set<int> common = above(machine, *gpu.pci);
      std::erase_if(common, [&](int bridge) { return !above(machine, *nic.pci).contains(bridge); });
      EXPECT_EQ(common.size(), 2U) << "the switch's upstream port and the root port";
    }
    EXPECT_EQ(partners, 1) << i;
  }
  EXPECT_TRUE(reading.skipped.empty()) << skipped_text(reading);
}

TEST_F(SharedIbLspciTest, LspciAcsIsOnlyAboveTheSwitches) {
  const Reading reading =
      read("lspci/8xh100-sapphire-rapids-bridges.txt", topology::lspci::looks_like, topology::lspci::read);
  const Machine& machine = reading.machine;
  std::set<std::string> redirecting;
  int validating = 0;
  for (const PciDevice& device : machine.pci) {
    if (!device.acs || !device.is_bridge) continue;
    validating += device.acs->source_validation ? 1 : 0;
    if (device.acs->redirects()) redirecting.insert(device.id.to_text());
  }
  EXPECT_EQ(validating, 6);
  EXPECT_EQ(redirecting,
            (std::set<std::string>{"0000:82:00.0", "0000:82:01.0", "0000:82:02.0", "0000:82:03.0"}));
  const auto expect_none_above = [&](int position) {
    for (const int bridge : above(machine, position))
      EXPECT_FALSE(redirecting.contains(machine.pci[static_cast<std::size_t>(bridge)].id.to_text()));
  };
  for (const Gpu& gpu : machine.gpus) expect_none_above(*gpu.pci);
  for (const Nic& nic : machine.nics) expect_none_above(*nic.pci);
}

}  // namespace
}  // namespace ringcomm
