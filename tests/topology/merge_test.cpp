// SPDX-License-Identifier: Apache-2.0
// Machines of a few devices, each rule of the merge alone; then whole ones in every order of their files.
#include <gtest/gtest.h>

#include <algorithm>

#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/evidence.hpp"

namespace ringcomm {
namespace {

PciBusId bus(std::string_view text) { return parse_pci_bus_id(text).value(); }

Reading reading(std::string file, std::string format = "nvidia-smi-topo") {
  Reading reading;
  reading.file = std::move(file);
  reading.format = std::move(format);
  reading.machine.hosts.emplace_back();
  reading.machine.has_gpu_evidence = true;
  reading.machine.has_link_evidence = true;
  return reading;
}
Gpu gpu(int index, std::string_view bus_id = {}, std::string uuid = {}) {
  Gpu gpu;
  gpu.index = index;
  if (!bus_id.empty()) gpu.bus = bus(bus_id);
  gpu.uuid = std::move(uuid);
  return gpu;
}
Nic nic(std::string name, std::string_view bus_id = {}, std::string guid = {}) {
  Nic nic;
  nic.name = std::move(name);
  if (!bus_id.empty()) nic.bus = bus(bus_id);
  nic.guid = std::move(guid);
  return nic;
}

/// "subject: first (file:line) or second (file:line)".
std::vector<std::string> differences(const MergedEvidence& merged) {
  std::vector<std::string> out;
  for (const auto& c : merged.contradictions)
    out.push_back(concat(c.subject, ": ", c.first, " (", c.first_where.to_text(), ") or ", c.second, " (",
                         c.second_where.to_text(), ")"));
  return out;
}
using Texts = std::vector<std::string>;

TEST(MergeTest, OneReadingStaysAsItIs) {
  auto only = reading("a");
  only.machine.gpus = {gpu(3), gpu(1)};
  only.job.events.emplace_back();
  only.skipped.push_back({{"a", 1}, "x", "y"});
  const auto merged = merge_evidence({only});
  ASSERT_EQ(merged.machine.gpus.size(), 2U);
  EXPECT_EQ(merged.machine.gpus[0].index, 3);
  EXPECT_EQ(merged.job.events.size(), 1U);
  EXPECT_EQ(merged.skipped.size(), 1U);
  EXPECT_TRUE(merge_evidence({}).machine.gpus.empty());
}

TEST(MergeTest, GpusJoinByBusThenUuidThenNumber) {
  auto a = reading("a", "nccl-topo-xml");
  a.machine.gpus = {gpu(0, "3b:00.0"), gpu(1, "4c:00.0", "GPU-1"), gpu(2, "5d:00.0")};
  auto b = reading("b");
  b.machine.gpus = {gpu(2), gpu(7, "", "GPU-1"), gpu(5, "3b:00.0")};
  b.machine.gpus[0].numa_node = 22;
  b.machine.gpus[1].numa_node = 77;
  b.machine.gpus[2].numa_node = 55;
  const auto merged = merge_evidence({a, b});
  ASSERT_EQ(merged.machine.gpus.size(), 3U);
  EXPECT_EQ(merged.machine.gpus[0].numa_node, 55);
  EXPECT_EQ(merged.machine.gpus[1].numa_node, 77);
  EXPECT_EQ(merged.machine.gpus[2].numa_node, 22);
  EXPECT_TRUE(merged.contradictions.empty());
  ASSERT_EQ(merged.skipped.size(), 2U);
  EXPECT_EQ(merged.skipped[0].reason, "is GPU1 elsewhere: joined by bus id or UUID");
}

TEST(MergeTest, OneNumberOnTwoBusesIsTwoGpusAndAContradiction) {
  auto a = reading("a", "nccl-topo-xml");
  a.machine.gpus = {gpu(0, "3b:00.0")};
  a.machine.gpus[0].where = {"a", 1};
  auto b = reading("b", "nccl-topo-xml");
  b.machine.gpus = {gpu(0, "4c:00.0")};
  b.machine.gpus[0].where = {"b", 2};
  const auto merged = merge_evidence({a, b});
  ASSERT_EQ(merged.machine.gpus.size(), 2U);
  EXPECT_EQ(merged.machine.gpus[1].index, 1);
  EXPECT_EQ(differences(merged), Texts{"GPU0 bus id: 0000:3b:00.0 (a:1) or 0000:4c:00.0 (b:2)"});
}

TEST(MergeTest, AMisreadBusIdOfALogIsNoSecondGpu) {
  auto xml = reading("x", "nccl-topo-xml");
  xml.machine.gpus = {gpu(0, "03:00.0"), gpu(1, "41:00.0"), gpu(2, "82:00.0")};
  for (int i = 0; i < 3; ++i) xml.machine.gpus[static_cast<std::size_t>(i)].rank = 2 - i;
  auto log = reading("l", "nccl-log");
  log.machine.pci = {{.id = bus("30:00.0")}};
  log.machine.gpus = {gpu(5, "30:00.0"), gpu(1, "14:00.0"), gpu(2, "82:00.0"), gpu(7, "9f:00.0")};
  log.machine.gpus[0].rank = 2;
  log.machine.gpus[0].pci = 0;
  log.machine.gpus[0].state.fabric_state = "completed";
  for (const auto& merged : {merge_evidence({xml, log}), merge_evidence({log, xml})}) {
    ASSERT_EQ(merged.machine.gpus.size(), 4U);
    EXPECT_EQ(merged.machine.gpus[0].bus, bus("03:00.0"));
    EXPECT_FALSE(merged.machine.gpus[0].pci.has_value());
    EXPECT_EQ(merged.machine.gpus[0].state.fabric_state, "completed");
    EXPECT_EQ(merged.machine.gpus[3].bus, bus("9f:00.0"));
    ASSERT_EQ(merged.contradictions.size(), 2U);
    EXPECT_EQ(merged.contradictions[0].subject, "GPU0 bus id");
    EXPECT_EQ(merged.contradictions[0].second, "0000:30:00.0");
    EXPECT_EQ(merged.contradictions[1].subject, "GPU1 bus id");
    EXPECT_TRUE(merged.skipped.empty());
  }
}

TEST(MergeTest, TwoLogsOfOneNumberAreTwoGpus) {
  auto a = reading("a", "nccl-log");
  a.machine.gpus = {gpu(0, "19:00.0")};
  auto b = reading("b", "nccl-log");
  b.machine.gpus = {gpu(0, "3b:00.0")};
  EXPECT_EQ(merge_evidence({a, b}).machine.gpus.size(), 2U);
}

TEST(MergeTest, LspciJoinsByBusOrWhereItListsAsMany) {
  auto matrix = reading("m");
  matrix.machine.gpus = {gpu(0), gpu(1)};
  auto all = reading("p", "lspci");
  all.machine.gpus = {gpu(0, "19:00.0"), gpu(1, "3b:00.0"), gpu(2, "00:02.0")};
  for (auto& listed : all.machine.gpus) listed.vendor = GpuVendor::nvidia;
  all.machine.gpus[2].vendor = GpuVendor::intel;
  auto excerpt = all;
  excerpt.machine.gpus = {gpu(0, "3b:00.0")};
  for (const auto& merged : {merge_evidence({matrix, all}), merge_evidence({all, matrix})}) {
    ASSERT_EQ(merged.machine.gpus.size(), 3U);
    EXPECT_EQ(merged.machine.gpus[1].bus, bus("3b:00.0"));
  }
  for (const auto& merged : {merge_evidence({matrix, excerpt}), merge_evidence({excerpt, matrix})}) {
    ASSERT_EQ(merged.machine.gpus.size(), 2U);
    EXPECT_FALSE(merged.machine.gpus[0].bus || merged.machine.gpus[1].bus);
    ASSERT_EQ(merged.skipped.size(), 1U);
    EXPECT_EQ(merged.skipped[0].text, "0000:3b:00.0");
  }
  auto xml = reading("x", "nccl-topo-xml");
  xml.machine.gpus = {gpu(0, "19:00.0"), gpu(1, "3b:00.0")};
  excerpt.machine.gpus.push_back(gpu(1, "5d:00.0"));
  const auto merged = merge_evidence({excerpt, xml});
  ASSERT_EQ(merged.machine.gpus.size(), 3U);
  EXPECT_EQ(merged.machine.gpus[2].bus, bus("5d:00.0"));
  EXPECT_TRUE(merged.contradictions.empty());
}

TEST(MergeTest, AGpuThatNoSourceWithLinksListsHasUnknownLinks) {
  auto xml = reading("x", "nccl-topo-xml");
  xml.machine.gpus = {gpu(0, "19:00.0"), gpu(1, "3b:00.0")};
  auto weak = reading("w", "hwloc-xml");
  weak.machine.has_link_evidence = false;
  weak.machine.gpus = {gpu(0, "19:00.0"), gpu(2, "5d:00.0")};
  for (const auto& merged : {merge_evidence({xml, weak}), merge_evidence({weak, xml})}) {
    ASSERT_EQ(merged.machine.gpus.size(), 3U);
    EXPECT_FALSE(merged.machine.gpus[0].is_link_count_unknown);
    EXPECT_FALSE(merged.machine.gpus[1].is_link_count_unknown);
    EXPECT_TRUE(merged.machine.gpus[2].is_link_count_unknown);
  }
}

TEST(MergeTest, UnknownTakesTheKnownAndTwoKnownOnesContradict) {
  auto a = reading("a");
  a.machine.gpus = {gpu(0)};
  a.machine.gpus[0].cpus = std::vector{0, 1, 2};
  a.machine.gpus[0].where = {"a", 4};
  auto b = a;
  b.file = "b";
  b.machine.gpus[0].cpus = std::vector{0, 1, 2, 8};
  b.machine.gpus[0].numa_node = 1;
  b.machine.gpus[0].where = {"b", 5};
  auto c = b;
  c.machine.gpus[0].numa_node = 0;
  c.machine.gpus[0].where = {"c", 6};
  const auto merged = merge_evidence({a, b, c});
  EXPECT_EQ(merged.machine.gpus[0].cpus->size(), 3U);
  EXPECT_EQ(merged.machine.gpus[0].numa_node, 1);
  EXPECT_EQ(differences(merged),
            (Texts{"GPU0 CPUs: 0-2 (a:4) or 0-2,8 (b:5)", "GPU0 NUMA node: 1 (b:5) or 0 (c:6)"}));
}

TEST(MergeTest, NicsJoinByBusOrNameAndByGuidOnlyAColumn) {
  auto a = reading("a", "nccl-topo-xml");
  a.machine.nics = {nic("mlx5_0", "19:00.0", "0x1"), nic("mlx5_1", "3b:00.0", "0x2")};
  auto b = reading("b", "ibstat");
  b.machine.nics = {nic("rocep25s0", "19:00.0"), nic("mlx5_1"), nic("NIC0", "", "0x1"),
                    nic("mlx5_9", "", "0x2")};
  b.machine.nics[0].firmware = "28.41.1000";
  b.machine.nics[1].firmware = "28.42.1000";
  const auto merged = merge_evidence({a, b});
  ASSERT_EQ(merged.machine.nics.size(), 3U);
  EXPECT_EQ(merged.machine.nics[0].name, "mlx5_0");
  EXPECT_EQ(merged.machine.nics[0].firmware, "28.41.1000");
  EXPECT_EQ(merged.machine.nics[1].firmware, "28.42.1000");
  EXPECT_EQ(merged.machine.nics[2].name, "mlx5_9");
}

TEST(MergeTest, NicsWithoutANameAreNotOne) {
  auto a = reading("a", "nccl-topo-xml");
  a.machine.nics = {nic("", "", "0x5"), nic("", "3b:00.0", "0x5")};
  auto b = reading("b", "ibstat");
  b.machine.nics = {nic(""), nic("NIC7", "", "0x5")};
  EXPECT_EQ(merge_evidence({a, b}).machine.nics.size(), 4U);
}

TEST(MergeTest, GuidsOfANodeAndOfItsImageDoNotContradict) {
  auto a = reading("a", "nccl-topo-xml");
  a.machine.nics = {nic("mlx5_0", "19:00.0", "0x5")};
  auto b = reading("b", "ibstat");
  b.machine.nics = {nic("mlx5_0", "", "0x6")};
  const auto merged = merge_evidence({a, b});
  EXPECT_EQ(merged.machine.nics.size(), 1U);
  EXPECT_TRUE(merged.contradictions.empty());
}

TEST(MergeTest, AColumnWithoutALegendStaysAndSaysSo) {
  auto a = reading("a", "nccl-topo-xml");
  a.machine.nics = {nic("mlx5_0", "19:00.0")};
  auto b = reading("b");
  b.machine.nics = {nic("NIC0")};
  const auto merged = merge_evidence({a, b});
  EXPECT_EQ(merged.machine.nics.size(), 2U);
  ASSERT_EQ(merged.skipped.size(), 1U);
  EXPECT_EQ(merged.skipped[0].text, "NIC0");
}

TEST(MergeTest, PortsMergeAndRatesContradict) {
  auto a = reading("a", "nccl-topo-xml");
  a.machine.nics = {nic("mlx5_0")};
  a.machine.nics[0].ports = {{.number = 1, .gbit_per_s = 400.0, .where = {"a", 1}}};
  auto b = reading("b", "ibstat");
  b.machine.nics = {nic("mlx5_0")};
  b.machine.nics[0].ports = {
      {.number = 2, .where = {"b", 2}},
      {.number = 1, .state = PortState::active, .gbit_per_s = 200.0, .where = {"b", 3}}};
  auto c = a;
  c.machine.nics[0].ports[0].gbit_per_s = 401.0;
  const auto merged = merge_evidence({a, b, c});
  ASSERT_EQ(merged.machine.nics.size(), 1U);
  ASSERT_EQ(merged.machine.nics[0].ports.size(), 2U);
  EXPECT_EQ(merged.machine.nics[0].ports[0].state, PortState::active);
  EXPECT_EQ(differences(merged), Texts{"mlx5_0 port 1 Gb/s: 400 (a:1) or 200 (b:3)"});
}

TEST(MergeTest, NumaNodesJoinByIdAndPackagesMove) {
  auto a = reading("a", "hwloc-xml");
  a.machine.packages = {{.id = 1}, {.id = 0}};
  a.machine.numa_nodes = {{.id = 8, .package = 0, .where = {"a", 1}}, {.id = 0, .package = 1}};
  auto b = reading("b");
  b.machine.packages = {{.id = 0, .vendor = "IBM"}};
  b.machine.numa_nodes = {{.id = 8, .cpus = std::vector{80}, .where = {"b", 1}}};
  auto c = b;
  c.machine.numa_nodes[0].cpus = std::vector{81};
  c.machine.numa_nodes[0].where = {"c", 1};
  const auto merged = merge_evidence({a, b, c});
  ASSERT_EQ(merged.machine.numa_nodes.size(), 2U);
  EXPECT_EQ(merged.machine.packages[0].id, 0);
  EXPECT_EQ(merged.machine.packages[0].vendor, "IBM");
  EXPECT_EQ(merged.machine.numa_nodes[1].package, 1);
  EXPECT_EQ(merged.machine.numa_nodes[0].package, 0);
  EXPECT_EQ(differences(merged), Texts{"NUMA8 CPUs: 80 (b:1) or 81 (c:1)"});
}

TEST(MergeTest, PciWidthsContradictAndSpeedsOnlyGetAWord) {
  auto a = reading("a", "nccl-topo-xml");
  a.machine.pci = {{.id = bus("17:00.0"), .is_bridge = true},
                   {.id = bus("19:00.0"),
                    .parent = 0,
                    .link = {.gt_per_s = 32.0, .width = 16, .speed_text = "32 GT/s"},
                    .where = {"a", 2}}};
  a.machine.gpus = {gpu(0, "19:00.0")};
  a.machine.gpus[0].pci = 1;
  auto b = reading("b", "lspci");
  b.machine.pci = {{.id = bus("19:00.0"),
                    .link = {.gt_per_s = 2.5, .width = 8, .speed_text = "2.5 GT/s"},
                    .where = {"b", 9}},
                   {.id = bus("00:01.0"), .is_bridge = true},
                   {.id = bus("17:00.0"), .parent = 1}};
  const auto merged = merge_evidence({a, b});
  ASSERT_EQ(merged.machine.pci.size(), 3U);
  EXPECT_EQ(merged.machine.pci[2].id, bus("19:00.0"));
  EXPECT_EQ(merged.machine.pci[2].parent, 1);
  EXPECT_EQ(merged.machine.pci[1].parent, 0);
  EXPECT_EQ(merged.machine.pci[2].link.gt_per_s, 32.0);
  EXPECT_EQ(merged.machine.gpus[0].pci, 2);
  EXPECT_EQ(differences(merged), Texts{"PCI 0000:19:00.0 lanes: 16 (a:2) or 8 (b:9)"});
  EXPECT_EQ(merged.skipped.size(), 1U);
}

TEST(MergeTest, NoDeviceBecomesItsOwnAncestor) {
  auto a = reading("a", "lspci");
  a.machine.pci = {{.id = bus("01:00.0")}, {.id = bus("02:00.0"), .parent = 0}};
  auto b = reading("b", "lspci");
  b.machine.pci = {{.id = bus("02:00.0")}, {.id = bus("01:00.0"), .parent = 0}};
  const auto merged = merge_evidence({a, b});
  EXPECT_FALSE(merged.machine.pci[0].parent.has_value());
  EXPECT_EQ(merged.machine.pci[1].parent, 0);
}

}  // namespace
}  // namespace ringcomm
