// SPDX-License-Identifier: Apache-2.0
// A tree as the kernel shows it, made in a temporary directory.
#include "topology/readers/sysfs_ib.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "topology/readers/evidence_text.hpp"

namespace ringcomm {
namespace {

namespace fs = std::filesystem;
using testing::skipped_text;

class SysfsIbTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "sysfs_ib.XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, std::string_view text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  Reading read_ok() const {
    auto reading = topology::sysfs_ib::read(root_ / "class");
    EXPECT_TRUE(reading.is_ok()) << reading.status().message();
    return reading.is_ok() ? std::move(reading).value() : Reading{};
  }

  fs::path root_{};
};

TEST_F(SysfsIbTest, AnAdapterWithItsPlacePortsCountersAndGids) {
  write("class/mlx5_9/fw_ver", "1.2.3\n");
  write("class/mlx5_9/hca_type", "MT4129\n");
  write("class/mlx5_9/node_guid", "0200:0000:0000:0009\n");
  write("class/mlx5_9/ports/1/state", "4: ACTIVE\n");
  write("class/mlx5_9/ports/1/phys_state", "5: LinkUp\n");
  write("class/mlx5_9/ports/1/link_layer", "Ethernet\n");
  write("class/mlx5_9/ports/1/rate", "100 Gb/sec (2X HDR)\n");
  write("class/mlx5_9/ports/1/lid", "0xffff\n");
  write("class/mlx5_9/ports/1/counters/link_downed", "255\n");
  write("class/mlx5_9/ports/1/counters/symbol_error", "65535\n");
  write("class/mlx5_9/ports/1/counters/bad", "N/A (no PMA)\n");
  write("class/mlx5_9/ports/1/hw_counters/out_of_sequence", "18446744073709551615\n");
  write("class/mlx5_9/ports/1/gids/0", "fe80:0000:0000:0000:0000:0000:0000:0009\n");
  write("class/mlx5_9/ports/1/gids/10", "0000:0000:0000:0000:0000:ffff:c000:0201\n");
  write("class/mlx5_9/ports/1/gids/2", "0000:0000:0000:0000:0000:0000:0000:0000\n");
  write("class/mlx5_9/ports/1/gid_attrs/types/10", "RoCE v2\n");
  write("class/mlx5_9/ports/1/gid_attrs/ndevs/10", "eth7\n");
  write("devices/0001:3b:00.0/numa_node", "3\n");
  write("devices/0001:3b:00.0/net/eth7/dev_port", "0\n");
  fs::create_directory_symlink(root_ / "devices/0001:3b:00.0", root_ / "class/mlx5_9/device");
  EXPECT_TRUE(topology::sysfs_ib::looks_like(root_ / "class"));
  const Reading reading = read_ok();
  ASSERT_EQ(reading.machine.nics.size(), 1U);
  const Nic& nic = reading.machine.nics[0];
  EXPECT_EQ(nic.name, "mlx5_9");
  EXPECT_EQ(nic.firmware, "1.2.3");
  EXPECT_EQ(nic.model, "MT4129");
  EXPECT_EQ(nic.bus->to_text(), "0001:3b:00.0");
  EXPECT_EQ(nic.numa_node, 3);
  ASSERT_EQ(nic.ports.size(), 1U);
  const Port& port = nic.ports[0];
  EXPECT_EQ(port.state, PortState::active);
  EXPECT_EQ(port.gbit_per_s, 100.0);
  EXPECT_EQ(port.lid, 65535);
  EXPECT_EQ(port.net_name, "eth7");
  EXPECT_EQ(port.counters.at("link_downed"), 255U) << "a saturated counter stays as it is";
  EXPECT_EQ(port.counters.at("out_of_sequence"), 18446744073709551615U);
  EXPECT_FALSE(port.counters.contains("bad"));
  ASSERT_EQ(port.gids.size(), 2U);
  EXPECT_EQ(port.gids[1].index, 10);
  EXPECT_EQ(port.gids[1].address, "::ffff:192.0.2.1");
  EXPECT_EQ(port.gids[1].type, "RoCE v2");
  EXPECT_EQ(port.gids[1].net_device, "eth7");
  EXPECT_EQ(reading.skipped.size(), 1U) << skipped_text(reading);
}

TEST_F(SysfsIbTest, WhatIsMissingIsUnknown) {
  write("class/a/ports/1/state", "");
  write("class/a/ports/x/state", "4: ACTIVE\n");
  write("class/a/ports/2/rate", "fast\n");
  write("class/b/fw_ver", "1\n");
  const Reading reading = read_ok();
  ASSERT_EQ(reading.machine.nics.size(), 1U);
  ASSERT_EQ(reading.machine.nics[0].ports.size(), 2U);
  EXPECT_EQ(reading.machine.nics[0].ports[0].state, PortState::unknown);
  EXPECT_FALSE(reading.machine.nics[0].ports[1].gbit_per_s);
  EXPECT_FALSE(reading.machine.nics[0].bus || reading.machine.nics[0].numa_node);
  EXPECT_EQ(reading.skipped.size(), 3U) << skipped_text(reading);
}

TEST_F(SysfsIbTest, NoTreeIsNotFound) {
  EXPECT_EQ(topology::sysfs_ib::read(root_ / "nowhere").status().code(), StatusCode::not_found);
  write("class/readme", "");
  EXPECT_FALSE(topology::sysfs_ib::looks_like(root_ / "class"));
  EXPECT_EQ(topology::sysfs_ib::read(root_ / "class").status().code(), StatusCode::not_found);
}

}  // namespace
}  // namespace ringcomm
