// SPDX-License-Identifier: Apache-2.0
// What a source says that is not what it seems: speeds of idle links, root ports that are device 0, lists of
// nodes that are not whole, raw bandwidths.
#include <gtest/gtest.h>

#include "ringcomm/topology/path.hpp"
#include "topology/machines.hpp"

namespace ringcomm::inline v0 {
namespace {

constexpr double kGen3x16 = 15.75;
constexpr double kGen1x8 = 2.0;

DeviceRef gpu_ref(int position) { return {.kind = PartKind::gpu, .position = position}; }
DeviceRef nic_ref(int position) { return {.kind = PartKind::nic, .position = position}; }

Path path_between(const Machine& machine, DeviceRef from, DeviceRef to) {
  const auto paths = derive_paths(machine, CostModel::table());
  return paths.at(paths.find(from), paths.find(to));
}

/// Two GPUs below root ports of their own, as hwloc describes them.
Machine stated_machine(double bridge_gb_per_s, double gpu_gb_per_s) {
  MachineMaker maker;
  for (int i = 0; i < 2; ++i) {
    const std::string digit = std::to_string(i + 1);
    const int port = maker.pci("0000:00:0" + digit + ".0", std::nullopt, 0);
    maker.gpu("0000:0" + digit + ":00.0", port, 0);
  }
  for (auto& pci : maker.machine.pci)
    pci.link = {.stated_gb_per_s = pci.is_bridge ? bridge_gb_per_s : gpu_gb_per_s};
  return maker.machine;
}

TEST(PathEvidenceTest, BridgeThatStatesLessThanItsLeafIsUnknown) {
  const auto idle = path_between(stated_machine(kGen1x8, kGen3x16), gpu_ref(0), gpu_ref(1));
  EXPECT_FALSE(idle.bandwidth.gb_per_s.has_value());
  EXPECT_NE(idle.reason.find("perhaps an idle link"), std::string::npos) << idle.reason;
  EXPECT_NE(idle.reason.find("0000:00:01.0 (2 GB/s stated, 15.75 below it"), std::string::npos)
      << idle.reason;
  const auto equal = path_between(stated_machine(kGen3x16, kGen3x16), gpu_ref(0), gpu_ref(1));
  EXPECT_NEAR(equal.bandwidth.gb_per_s.value_or(0), 12, 0.01);
  const auto narrow_leaf = path_between(stated_machine(kGen3x16, kGen1x8), gpu_ref(0), gpu_ref(1));
  EXPECT_NEAR(narrow_leaf.bandwidth.gb_per_s.value_or(0), kGen1x8 * 0.762, 0.01);
}

TEST(PathEvidenceTest, SpeedAndWidthOfABridgeAreBelieved) {
  Machine machine = stated_machine(kGen1x8, kGen3x16);
  for (auto& pci : machine.pci) {
    if (pci.is_bridge) pci.link = {.gt_per_s = 2.5, .width = 8, .stated_gb_per_s = kGen1x8};
  }
  EXPECT_NEAR(path_between(machine, gpu_ref(0), gpu_ref(1)).bandwidth.gb_per_s.value_or(0), 1.5, 0.01);
}

/// Root ports 17:00.0 and 34:00.0, as on Xeons: two devices below the first, one below the second.
Machine device_0_root_ports(bool is_root_bus_known) {
  MachineMaker maker;
  const int first = maker.pci("0000:17:00.0", std::nullopt, 0);
  const int second = maker.pci("0000:34:00.0", std::nullopt, 0);
  const int third = maker.pci("0000:17:02.0", std::nullopt, 0);
  maker.gpu("0000:18:00.0", first, 0);
  maker.gpu("0000:35:00.0", second, 0);
  maker.nic("mlx5_0", "0000:1a:00.0", third, 0);
  for (const int i : {first, third, 3, 5}) {
    if (is_root_bus_known)
      maker.machine.pci[static_cast<std::size_t>(i)].root_bus = PciRootBus{.domain = 0, .bus = 0x17};
  }
  for (const int i : {second, 4}) {
    if (is_root_bus_known)
      maker.machine.pci[static_cast<std::size_t>(i)].root_bus = PciRootBus{.domain = 0, .bus = 0x34};
  }
  return maker.machine;
}

TEST(PathEvidenceTest, RootPortsThatAreDevice0HaveTheirHostBridge) {
  const Machine machine = device_0_root_ports(true);
  const auto across = path_between(machine, gpu_ref(0), gpu_ref(1));
  EXPECT_EQ(across.path_class, PathClass::node);
  EXPECT_NE(across.reason.find("two host bridges of NUMA0"), std::string::npos) << across.reason;
  const auto near = path_between(machine, gpu_ref(0), nic_ref(0));
  EXPECT_EQ(near.path_class, PathClass::phb);
  EXPECT_NE(near.reason.find("host bridge of bus 0000:17"), std::string::npos) << near.reason;
  const auto hidden = path_between(device_0_root_ports(false), gpu_ref(0), gpu_ref(1));
  EXPECT_EQ(hidden.path_class, PathClass::phb) << "as NCCL calls it";
  EXPECT_NE(hidden.reason.find("host bridges are not shown"), std::string::npos) << hidden.reason;
}

/// As `nvidia-smi topo -m` gives it where the NUMA node of one GPU is N/A: only node 1 is listed.
Machine one_node_listed() {
  MachineMaker maker(1, 1);
  maker.machine.numa_nodes[0].id = 1;
  maker.machine.numa_nodes[0].cpus = std::vector<int>{8, 9, 10, 11};
  for (int i = 0; i < 2; ++i) maker.gpu("0000:0" + std::to_string(i + 1) + ":00.0", std::nullopt, i + 0);
  for (auto& gpu : maker.machine.gpus) gpu.pci = {};
  maker.machine.gpus[0].numa_node = {};
  maker.machine.gpus[0].cpus = std::vector<int>{0, 1, 2, 3};
  maker.machine.gpus[1].cpus = std::vector<int>{8, 9, 10, 11};
  maker.nic("mlx5_0", "0000:03:00.0", std::nullopt, std::nullopt);
  maker.machine.nics[0].pci = {};
  return maker.machine;
}

TEST(PathEvidenceTest, OnlyNodeIsNotThatOfOtherCpus) {
  Machine machine = one_node_listed();
  const auto path = path_between(machine, gpu_ref(0), gpu_ref(1));
  EXPECT_EQ(path.path_class, PathClass::unknown);
  EXPECT_NE(path.reason.find("NUMA node of GPU0 unknown"), std::string::npos) << path.reason;
  EXPECT_NE(path_between(machine, gpu_ref(1), nic_ref(0)).reason.find("NUMA node of mlx5_0 unknown"),
            std::string::npos)
      << "there are more nodes than this one";
  machine.gpus[0].cpus = {};
  EXPECT_EQ(path_between(machine, gpu_ref(0), gpu_ref(1)).reason.find("NUMA node"), std::string::npos);
}

TEST(PathEvidenceTest, StatedBandwidthIsRawAndPlannedLikeALink) {
  MachineMaker maker;
  for (int i = 0; i < 2; ++i) maker.gpu("0000:0" + std::to_string(i + 1) + ":00.0", std::nullopt, 0, 70);
  Machine linked = maker.machine;
  for (int i = 0; i < 2; ++i) {
    Link link{.gpu = i, .end = LinkEnd::gpu, .peer = 1 - i};
    link.count = 6;
    link.gb_per_s_each = 25;
    linked.links.push_back(link);
  }
  Machine stated = maker.machine;
  StatedPath matrix{.from = gpu_ref(0), .to = gpu_ref(1), .path_class = PathClass::nvl};
  matrix.nvlinks = 6;
  matrix.gb_per_s = 150;
  stated.stated_paths.push_back(matrix);
  const auto path = path_between(stated, gpu_ref(0), gpu_ref(1));
  EXPECT_EQ(path.bandwidth.source, Source::evidence);
  EXPECT_NEAR(path.bandwidth.gb_per_s.value_or(0), 120, 5) << "the table plans with 6 x 20";
  EXPECT_DOUBLE_EQ(path.bandwidth.gb_per_s.value_or(0),
                   path_between(linked, gpu_ref(0), gpu_ref(1)).bandwidth.gb_per_s.value_or(1));
}

}  // namespace
}  // namespace ringcomm::inline v0
