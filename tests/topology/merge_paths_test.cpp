// SPDX-License-Identifier: Apache-2.0
// Links, paths, counts and hosts of several readings; the order of the files must not show.
#include <gtest/gtest.h>

#include <algorithm>

#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/evidence.hpp"

namespace ringcomm {
namespace {

Reading reading(std::string file, std::string format, int gpus) {
  Reading reading;
  reading.file = std::move(file);
  reading.format = std::move(format);
  reading.machine.hosts.emplace_back();
  reading.machine.has_gpu_evidence = true;
  reading.machine.has_link_evidence = true;
  for (int i = 0; i < gpus; ++i) {
    reading.machine.gpus.emplace_back();
    reading.machine.gpus.back().index = i;
    reading.machine.gpus.back().where = {reading.file, i + 1};
  }
  return reading;
}
StatedPath path(int from, int to, PathClass path_class, std::optional<int> nvlinks = {}, Where where = {}) {
  return {.from = {PartKind::gpu, from},
          .to = {PartKind::gpu, to},
          .path_class = path_class,
          .nvlinks = nvlinks,
          .where = std::move(where)};
}
/// Every two GPUs of `reading`.
void state_all(Reading& reading, PathClass path_class, std::optional<int> nvlinks = {}) {
  const int gpus = static_cast<int>(reading.machine.gpus.size());
  for (int from = 0; from < gpus; ++from) {
    for (int to = 0; to < gpus; ++to) {
      if (from != to)
        reading.machine.stated_paths.push_back(path(from, to, path_class, nvlinks, {reading.file, from + 1}));
    }
  }
}
void add_rdma_nics(Reading& reading, int count) {
  for (int i = 0; i < count; ++i) {
    reading.machine.nics.emplace_back();
    reading.machine.nics.back().name = concat("mlx5_", i);
  }
}
void link_all_to_switch(Reading& reading, int count) {
  for (int i = 0; i < static_cast<int>(reading.machine.gpus.size()); ++i)
    reading.machine.links.push_back({.gpu = i,
                                     .end = LinkEnd::nvswitch,
                                     .target = PciBusId{0, 0xc3, 0, 0},
                                     .count = count,
                                     .where = {reading.file, 100 + i}});
}
std::vector<std::string> differences(const MergedEvidence& merged) {
  std::vector<std::string> out;
  for (const auto& c : merged.contradictions)
    out.push_back(concat(c.subject, ": ", c.first, " (", c.first_where.to_text(), ") or ", c.second, " (",
                         c.second_where.to_text(), ")"));
  return out;
}
using Texts = std::vector<std::string>;

TEST(MergePathsTest, PathsAndAnswersMoveWithTheirGpus) {
  auto a = reading("a", "nccl-topo-xml", 2);
  a.machine.gpus[0].bus = PciBusId{0, 2, 0, 0};
  a.machine.gpus[1].bus = PciBusId{0, 1, 0, 0};
  auto b = reading("b", "live", 2);
  b.machine.gpus[0].bus = PciBusId{0, 1, 0, 0};
  b.machine.gpus[1].bus = PciBusId{0, 2, 0, 0};
  b.machine.stated_paths = {path(0, 1, PathClass::pix)};
  b.machine.p2p = {{.from = 0, .to = 1, .capability = "read", .status = "OK"}};
  b.machine.links = {{.gpu = 0, .end = LinkEnd::gpu, .peer = 1, .count = 2}};
  const auto merged = merge_evidence({a, b});
  ASSERT_EQ(merged.machine.stated_paths.size(), 1U);
  EXPECT_EQ(merged.machine.stated_paths[0].from.position, 1);
  EXPECT_EQ(merged.machine.p2p.at(0).from, 1);
  EXPECT_EQ(merged.machine.links.at(0).gpu, 1);
  EXPECT_EQ(merged.machine.links.at(0).peer, 0);
}

TEST(MergePathsTest, AMatrixWithoutNvlinksHidesNone) {
  auto with = reading("m", "nvidia-smi-topo", 2);
  state_all(with, PathClass::nvl, 18);
  auto without = reading("mp", "nvidia-smi-topo", 2);
  without.machine.has_link_evidence = false;
  state_all(without, PathClass::node);
  for (const auto& merged : {merge_evidence({with, without}), merge_evidence({without, with})}) {
    EXPECT_TRUE(merged.contradictions.empty());
    ASSERT_EQ(merged.machine.stated_paths.size(), 2U);
    EXPECT_EQ(merged.machine.stated_paths[0].path_class, PathClass::nvl);
    EXPECT_EQ(merged.machine.stated_paths[0].nvlinks, 18);
  }
}

TEST(MergePathsTest, ClassesAndNvlinkCountsContradictOncePerPair) {
  auto a = reading("a", "nvidia-smi-topo", 3);
  state_all(a, PathClass::nvl, 4);
  auto b = reading("b", "nvidia-smi-topo", 3);
  state_all(b, PathClass::nvl, 4);
  for (auto& stated : b.machine.stated_paths) {
    if (stated.from.position + stated.to.position == 1) stated.nvlinks = 3;
    if (stated.from.position + stated.to.position == 3)
      stated = path(stated.from.position, stated.to.position, PathClass::sys, {}, stated.where);
  }
  EXPECT_EQ(differences(merge_evidence({a, b})),
            (Texts{"GPU0-GPU1 NVLinks: 4 (a:1) or 3 (b:1)", "GPU1-GPU2 path: NVL (a:2) or SYS (b:2)"}));
}

TEST(MergePathsTest, LinksOfAGpuCountOnce) {
  auto a = reading("a", "nccl-topo-xml", 2);
  link_all_to_switch(a, 18);
  auto b = reading("b", "nvidia-smi-nvlink", 2);
  b.machine.links = {{.gpu = 0, .count = 18}};
  const auto merged = merge_evidence({a, b});
  EXPECT_EQ(merged.machine.links.size(), 2U);
  EXPECT_TRUE(merged.contradictions.empty());
}

TEST(MergePathsTest, NvlinksOfAGpuContradictWhereverTheyAreCounted) {
  auto xml = reading("x", "nccl-topo-xml", 2);
  link_all_to_switch(xml, 18);
  auto status = reading("s", "nvidia-smi-nvlink", 2);
  for (int i = 0; i < 18; ++i)
    status.machine.gpus[1].nvlink_ports.push_back({.index = i, .is_active = i != 3});
  auto matrix = reading("m", "nvidia-smi-topo", 2);
  state_all(matrix, PathClass::nvl, 12);
  EXPECT_EQ(differences(merge_evidence({xml, status})), Texts{"GPU1 NVLinks: 18 (x:101) or 17 (s:2)"});
  EXPECT_EQ(differences(merge_evidence({xml, matrix})),
            (Texts{"GPU0 NVLinks: 18 (x:100) or NV12 (m:1)", "GPU1 NVLinks: 18 (x:101) or NV12 (m:2)"}));
}

TEST(MergePathsTest, MeshAndSwitchCountsBothAgree) {
  auto mesh = reading("m", "nvidia-smi-topo", 4);
  state_all(mesh, PathClass::nvl, 6);
  auto eighteen = reading("x", "nccl-topo-xml", 4);
  link_all_to_switch(eighteen, 18);
  EXPECT_TRUE(merge_evidence({mesh, eighteen}).contradictions.empty());
  auto switched = reading("m", "nvidia-smi-topo", 4);
  state_all(switched, PathClass::nvl, 18);
  EXPECT_TRUE(merge_evidence({switched, eighteen}).contradictions.empty());
}

TEST(MergePathsTest, DeviceCountsContradictBetweenWholeMachinesOnly) {
  auto matrix = reading("m", "nvidia-smi-topo", 8);
  add_rdma_nics(matrix, 8);
  auto container = reading("x", "nccl-topo-xml", 7);
  container.machine.nics.emplace_back();
  container.machine.nics.back().name = "eth0";
  container.machine.nics.back().is_rdma = false;
  EXPECT_EQ(differences(merge_evidence({matrix, container})),
            (Texts{"GPUs: 8 (m) or 7 (x)", "RDMA NICs: 8 (m) or 0 (x)"}));
  auto one_port = reading("i", "ibstat", 0);
  add_rdma_nics(one_port, 1);
  auto job = reading("l", "nccl-log", 4);
  auto no_columns = reading("n", "nvidia-smi-topo", 8);
  EXPECT_TRUE(merge_evidence({matrix, one_port, job, no_columns}).contradictions.empty());
}

TEST(MergePathsTest, HostsJoinByNameAndOneMachineNeedsNone) {
  auto hash = reading("x", "nccl-topo-xml", 1);
  hash.machine.hosts[0].name = "0x1234";
  auto unnamed = reading("m", "nvidia-smi-topo", 1);
  auto named = reading("l", "nccl-log", 1);
  named.machine.hosts[0].name = "node01";
  const auto one = merge_evidence({hash, unnamed, named});
  ASSERT_EQ(one.machine.hosts.size(), 1U);
  EXPECT_EQ(one.machine.hosts[0].name, "node01");
  EXPECT_EQ(one.machine.gpus.size(), 1U);
  auto other = named;
  other.machine.hosts[0].name = "node02";
  const auto two = merge_evidence({named, other, unnamed});
  EXPECT_EQ(two.machine.hosts.size(), 2U);
  EXPECT_EQ(two.machine.gpus.size(), 2U);
  ASSERT_EQ(two.skipped.size(), 1U);
  EXPECT_EQ(two.skipped[0].reason, "does not say which of 2 hosts it is of: taken for host 0");
}

TEST(MergePathsTest, TheSameFileTwiceChangesNothing) {
  auto a = reading("a", "nvidia-smi-topo", 4);
  state_all(a, PathClass::nvl, 18);
  add_rdma_nics(a, 4);
  link_all_to_switch(a, 18);
  const auto merged = merge_evidence({a, a});
  EXPECT_TRUE(merged.contradictions.empty());
  EXPECT_EQ(merged.machine.gpus.size(), 4U);
  EXPECT_EQ(merged.machine.nics.size(), 4U);
  EXPECT_EQ(merged.machine.links.size(), 4U);
  EXPECT_EQ(merged.machine.stated_paths.size(), 12U);
}

/// All that a merge may not make depend on the order of agreeing files, as text.
std::string text_of(const Machine& machine) {
  std::string text;
  for (const auto& g : machine.gpus)
    text += concat("GPU", g.index, ' ', g.bus ? g.bus->to_text() : "", ' ', g.uuid, ' ',
                   g.numa_node.value_or(-1), ' ', g.pci.value_or(-1), '\n');
  for (const auto& n : machine.nics)
    text += concat(n.name, ' ', n.bus ? n.bus->to_text() : "", ' ', n.ports.size(), '\n');
  for (const auto& n : machine.numa_nodes)
    text += concat("NUMA", n.id, ' ', n.cpus ? n.cpus->size() : 999, '\n');
  for (const auto& d : machine.pci) text += concat(d.id.to_text(), ' ', d.parent.value_or(-1), '\n');
  for (const auto& l : machine.links) text += concat("link ", l.gpu, ' ', l.count.value_or(-1), '\n');
  for (const auto& p : machine.stated_paths)
    text +=
        concat(p.from.position, ' ', p.to.position, ' ', name_of(p.path_class), p.nvlinks.value_or(-1), '\n');
  return text;
}

TEST(MergePathsTest, TheOrderOfAgreeingFilesDoesNotShow) {
  auto xml = reading("x", "nccl-topo-xml", 4);
  for (int i = 0; i < 4; ++i) {
    const PciBusId id{0, static_cast<std::uint8_t>(64 - i), 0, 0};
    xml.machine.gpus[static_cast<std::size_t>(i)].bus = id;
    xml.machine.gpus[static_cast<std::size_t>(i)].pci = i;
    xml.machine.pci.push_back({.id = id});
  }
  std::ranges::reverse(xml.machine.gpus);
  link_all_to_switch(xml, 18);
  auto matrix = reading("m", "nvidia-smi-topo", 4);
  state_all(matrix, PathClass::nvl, 18);
  add_rdma_nics(matrix, 12);
  matrix.machine.gpus[2].numa_node = 1;
  auto list = reading("l", "live", 4);
  for (auto& gpu : list.machine.gpus) gpu.uuid = concat("GPU-", gpu.index);
  list.machine.numa_nodes = {{.id = 8, .cpus = std::vector{1, 2}}, {.id = 0}};
  std::vector<Reading> readings{xml, matrix, list};
  std::vector<std::size_t> order{0, 1, 2};
  const std::string want = text_of(merge_evidence(readings).machine);
  EXPECT_NE(want.find("GPU2 0000:3e:00.0 GPU-2 1"), std::string::npos) << want;
  do {
    const auto merged = merge_evidence({readings[order[0]], readings[order[1]], readings[order[2]]});
    EXPECT_EQ(text_of(merged.machine), want);
    EXPECT_TRUE(merged.contradictions.empty());
  } while (std::ranges::next_permutation(order).found);
}

}  // namespace
}  // namespace ringcomm
