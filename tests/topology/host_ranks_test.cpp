// SPDX-License-Identifier: Apache-2.0
// Cores of fake machines; the oracle is the least number of edges that leave a socket or a memory node.
#include <gtest/gtest.h>

#include <algorithm>

#include "ringcomm/topology/machine_rings.hpp"

namespace ringcomm::inline v0 {
namespace {

/// Cores numbered alternately: package = cpu % packages.
Machine alternating(int packages, int cores) {
  Machine machine;
  for (int cpu = 0; cpu < cores; ++cpu)
    machine.cores.push_back({.package = cpu % packages, .memory_node = cpu % packages, .cpus = {cpu}});
  return machine;
}

std::vector<Placement> one_cpu_each(const std::vector<int>& cpus) {
  std::vector<Placement> placements;
  for (const int cpu : cpus) placements.push_back({.cpus = {cpu}, .memory_node = -1});
  return placements;
}

/// Edges of the ring whose ends differ in `label` of their first CPU.
template <class Label>
int crossings(const HostRanks& ranks, const Label& label) {
  int crossed = 0;
  for (std::size_t i = 0; i < ranks.ring.size(); ++i) {
    const auto cpu = [&](std::size_t at) {
      return ranks.placements[static_cast<std::size_t>(ranks.ring[at % ranks.ring.size()])].cpus.front();
    };
    if (label(cpu(i)) != label(cpu(i + 1))) ++crossed;
  }
  return crossed;
}

TEST(HostRanksTest, AlternatePlacementsMakeAContiguousRing) {
  const auto ranks =
      order_host_ranks(alternating(2, 8), CostModel::table(), one_cpu_each({0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(ranks.ring, (std::vector<int>{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(crossings(ranks, [](int cpu) { return cpu % 2; }), 2);
  EXPECT_EQ(ranks.explanation, "8 ranks on 2 memory nodes, 6 LOC, 2 SYS edges");
}

TEST(HostRanksTest, SpreadsAndCrossesEachSocketOnce) {
  for (int count = 2; count <= 40; ++count) {
    const auto ranks = plan_host_ranks(alternating(2, 8), CostModel::table(), count);
    ASSERT_EQ(ranks.ring.size(), static_cast<std::size_t>(count));
    auto sorted = ranks.ring;
    std::ranges::sort(sorted);
    for (int i = 0; i < count; ++i) EXPECT_EQ(sorted[static_cast<std::size_t>(i)], i);
    EXPECT_EQ(crossings(ranks, [](int cpu) { return cpu % 2; }), 2) << count;
  }
}

TEST(HostRanksTest, NodesOfOnePackageStayTogether) {
  Machine machine;  // two packages of two nodes, numbered so that neighbours are far apart
  for (int cpu = 0; cpu < 16; ++cpu)
    machine.cores.push_back({.package = cpu % 2, .memory_node = cpu % 4, .cpus = {cpu}});
  std::vector<int> cpus;
  for (int cpu = 0; cpu < 16; ++cpu) cpus.push_back(cpu);
  const auto ranks = order_host_ranks(machine, CostModel::table(), one_cpu_each(cpus));
  EXPECT_EQ(crossings(ranks, [](int cpu) { return cpu % 2; }), 2);
  EXPECT_EQ(crossings(ranks, [](int cpu) { return cpu % 4; }), 4);
  EXPECT_EQ(ranks.explanation, "16 ranks on 4 memory nodes, 12 LOC, 2 NODE, 2 SYS edges");
}

TEST(HostRanksTest, FewRanksAndUnknownCores) {
  EXPECT_TRUE(plan_host_ranks(alternating(2, 8), CostModel::table(), 0).ring.empty());
  EXPECT_EQ(plan_host_ranks(alternating(2, 8), CostModel::table(), 1).ring, std::vector<int>{0});
  const auto unknown = plan_host_ranks(Machine(), CostModel::table(), 3);
  EXPECT_EQ(unknown.ring, (std::vector<int>{0, 1, 2}));
  EXPECT_NE(unknown.explanation.find("unknown"), std::string::npos);
  const auto elsewhere = order_host_ranks(alternating(2, 2), CostModel::table(), one_cpu_each({0, 99, 1}));
  EXPECT_EQ(elsewhere.ring, (std::vector<int>{0, 1, 2})) << "CPU 99 is no core of this machine";
}

TEST(HostRanksTest, ManyRanksAreOrderedAtOnce) {
  std::vector<int> cpus;
  for (int cpu = 0; cpu < 256; ++cpu) cpus.push_back(cpu);
  const auto ranks = order_host_ranks(alternating(2, 256), CostModel::table(), one_cpu_each(cpus));
  EXPECT_EQ(crossings(ranks, [](int cpu) { return cpu % 2; }), 2);
}

}  // namespace
}  // namespace ringcomm::inline v0
