// SPDX-License-Identifier: Apache-2.0
// The oracle is the table of the topology specification (2.1), and NCCL's figures in it.
#include "ringcomm/topology/cost_model.hpp"

#include <gtest/gtest.h>

namespace ringcomm::inline v0 {
namespace {

Gpu nvidia(std::optional<int> capability, const std::string& name = {}) {
  Gpu gpu;
  gpu.vendor = GpuVendor::nvidia;
  gpu.compute_capability = capability;
  gpu.name = name;
  return gpu;
}

TEST(CostModelTest, NvlinkGenerations) {
  const auto costs = CostModel::table();
  EXPECT_EQ(costs.nvlink_gb_per_s(nvidia(60)), 18);
  EXPECT_EQ(costs.nvlink_gb_per_s(nvidia(70)), 20);
  EXPECT_EQ(costs.nvlink_gb_per_s(nvidia(80)), 20);
  EXPECT_EQ(costs.nvlink_gb_per_s(nvidia(86)), 12);
  EXPECT_EQ(costs.nvlink_gb_per_s(nvidia(90)), 20.6);
  EXPECT_EQ(costs.nvlink_gb_per_s(nvidia(100)), 40.1);
  EXPECT_EQ(costs.nvlink_gb_per_s(nvidia(103)), 40.1);
}

TEST(CostModelTest, UnknownGenerationIsNoDefault) {
  const auto costs = CostModel::table();
  EXPECT_FALSE(costs.nvlink_gb_per_s(nvidia({})).has_value());
  EXPECT_FALSE(costs.nvlink_gb_per_s(nvidia(89)).has_value()) << "Ada has no NVLink";
  EXPECT_FALSE(costs.nvlink_gb_per_s(nvidia(120)).has_value());
  EXPECT_FALSE(costs.nvlink_gb_per_s(nvidia({}, "NVIDIA Unheard-of")).has_value());
  EXPECT_EQ(costs.nvlink_gb_per_s(nvidia({}, "NVIDIA H200")), 20.6);
  EXPECT_EQ(costs.nvlink_gb_per_s(nvidia({}, "Tesla V100-SXM2-16GB")), 20);
}

TEST(CostModelTest, XgmiOnlyWhereTheProductIsKnown) {
  const auto costs = CostModel::table();
  Gpu gpu;
  gpu.vendor = GpuVendor::amd;
  gpu.compute_capability = 906;
  EXPECT_FALSE(costs.nvlink_gb_per_s(gpu).has_value());
  gpu.compute_capability = 942;
  EXPECT_EQ(costs.nvlink_gb_per_s(gpu), 48);
}

TEST(CostModelTest, PcieIsProportionalToWidth) {
  const auto costs = CostModel::table();
  const auto link = [&](std::optional<double> speed, std::optional<int> width) {
    return costs.pcie_gb_per_s({.gt_per_s = speed, .width = width});
  };
  EXPECT_EQ(link(8, 16), 12);
  EXPECT_EQ(link(16, 16), 24);
  EXPECT_EQ(link(32, 16), 48);
  EXPECT_EQ(link(64, 16), 96);
  EXPECT_EQ(link(32, 8), 24);
  EXPECT_EQ(link(2.5, 1), 3.0 / 16) << "the 0.19 of virtual bridges";
  EXPECT_FALSE(link({}, 16).has_value());
  EXPECT_FALSE(link(16, {}).has_value());
  EXPECT_FALSE(link(16, 0).has_value());
  EXPECT_FALSE(link(7, 16).has_value()) << "no PCIe generation";
  PciLink stated;
  stated.stated_gb_per_s = 15.75;
  EXPECT_NEAR(costs.pcie_gb_per_s(stated).value_or(0), 12, 0.01);
  stated.stated_gb_per_s = 0;
  EXPECT_FALSE(costs.pcie_gb_per_s(stated).has_value());
}

TEST(CostModelTest, SocketsByVendorAndModel) {
  const auto costs = CostModel::table();
  const auto intel = [&](std::optional<int> model) {
    return costs.cpu_gb_per_s({.vendor = "GenuineIntel", .arch = "x86_64", .family = 6, .model = model});
  };
  EXPECT_EQ(intel(79), 6);
  EXPECT_EQ(intel(85), 10);
  EXPECT_EQ(intel(143), 22);
  EXPECT_EQ(intel(207), 40);
  EXPECT_FALSE(intel({}).has_value());
  EXPECT_EQ(costs.cpu_gb_per_s({.vendor = "AuthenticAMD"}), 16);
  EXPECT_EQ(costs.cpu_gb_per_s({.arch = "ppc64le"}), 32);
  EXPECT_EQ(costs.cpu_gb_per_s({.arch = "arm64"}), 6);
  EXPECT_FALSE(costs.cpu_gb_per_s({}).has_value());
}

TEST(CostModelTest, TableKnowsLatenciesWhereTheyAreKnown) {
  const auto costs = CostModel::table();
  EXPECT_EQ(costs.of(PathClass::nvl).alpha_us, 3.4);
  EXPECT_EQ(costs.of(PathClass::sys).alpha_us, 5.7);
  EXPECT_EQ(costs.of(PathClass::net).alpha_us, 14);
  for (const auto unknown :
       {PathClass::c2c, PathClass::p2c, PathClass::pxn, PathClass::dis, PathClass::unknown}) {
    EXPECT_FALSE(costs.of(unknown).alpha_us.has_value());
    EXPECT_EQ(costs.of(unknown).source, Source::unknown);
  }
  EXPECT_FALSE(costs.is_measured());
  EXPECT_FALSE(costs.is_measured_between(PartKind::numa_node));
}

}  // namespace
}  // namespace ringcomm::inline v0
