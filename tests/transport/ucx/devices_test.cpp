// SPDX-License-Identifier: Apache-2.0
// Which devices UCX is held to; the oracle is an invented /sys/class/net.
#include "transport/ucx/devices.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/temp_dir.hpp"

namespace ringcomm {
namespace {

using transport::ucx::devices_for;
using transport::ucx::devices_of;

TEST(UcxDevicesTest, APlainInterfaceStandsForItself) {
  const test::TempDir sysfs;
  std::filesystem::create_directories(sysfs.path() / "eth0" / "device");
  EXPECT_EQ(devices_of("eth0", sysfs.path()), "eth0");
  EXPECT_EQ(devices_of("gone0", sysfs.path()), "gone0");
}

TEST(UcxDevicesTest, AnInterfaceOfAnRdmaCardBringsItsPort) {
  const test::TempDir sysfs;
  std::filesystem::create_directories(sysfs.path() / "ib1" / "device" / "infiniband" / "mlx5_0");
  EXPECT_EQ(devices_of("ib1", sysfs.path()), "mlx5_0:1,ib1");
  std::ofstream(sysfs.path() / "ib1" / "dev_port") << "1\n";
  EXPECT_EQ(devices_of("ib1", sysfs.path()), "mlx5_0:2,ib1");
  std::ofstream(sysfs.path() / "ib1" / "dev_port") << "-7\n";
  EXPECT_EQ(devices_of("ib1", sysfs.path()), "mlx5_0:1,ib1");
}

TEST(UcxDevicesTest, RanksOfOneHostMeetOnLoopback) {
  auto groups = bootstrap_threads(1);
  ASSERT_TRUE(groups.is_ok());
  EXPECT_EQ(devices_for(*groups.value()[0]), "lo");
}

}  // namespace
}  // namespace ringcomm
