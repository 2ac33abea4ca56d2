// SPDX-License-Identifier: Apache-2.0
// Machines by hand; no core may be given twice while there are enough, and none of a memory-only node.
#include "topology/rank_placement.hpp"

#include <gtest/gtest.h>

#include <set>

#include "topology/machines.hpp"
#include "topology/nic_choice.hpp"

namespace ringcomm::inline v0::topology {
namespace {

std::vector<Placement> placements_of(const Machine& machine) {
  const auto paths = derive_paths(machine, CostModel::table());
  std::vector<DeviceRef> gpus;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i)
    gpus.push_back({.kind = PartKind::gpu, .position = static_cast<int>(i)});
  return place_ranks(machine, gpus, choose_nics(machine, paths, exclude_nics(machine, paths)));
}

/// pcie_machine() with `cores` cores of two hardware threads on each of its two nodes.
Machine with_cores(int cores) {
  Machine machine = pcie_machine();
  machine.cores.clear();
  for (int core = 0; core < 2 * cores; ++core)
    machine.cores.push_back(
        {.package = core / cores, .memory_node = core / cores, .cpus = {core, 100 + core}});
  return machine;
}

TEST(RankPlacementTest, CoresAreSharedAndOnePerNicIsLeft) {
  const auto placements = placements_of(with_cores(10));
  std::set<int> used;
  for (std::size_t rank = 0; rank < placements.size(); ++rank) {
    EXPECT_EQ(placements[rank].memory_node, static_cast<int>(rank / 4));
    EXPECT_EQ(placements[rank].cpus.size(), 4U) << "two cores with both threads";
    for (const int cpu : placements[rank].cpus) EXPECT_TRUE(used.insert(cpu % 100).second || cpu >= 100);
    for (const int cpu : placements[rank].cpus)
      EXPECT_TRUE(cpu < 100 || used.contains(cpu - 100)) << "a sibling";
  }
  EXPECT_EQ(used.size(), 16U) << "two NICs on each node leave two of ten cores";
}

TEST(RankPlacementTest, FewCoresAreNotKeptFromRanks) {
  for (const auto& placement : placements_of(with_cores(4))) EXPECT_EQ(placement.cpus.size(), 2U);
  std::set<int> first;
  for (const auto& placement : placements_of(with_cores(4))) first.insert(placement.cpus.front());
  EXPECT_EQ(first.size(), 8U) << "no core is kept for a NIC while ranks would have to share one";
  for (const auto& placement : placements_of(with_cores(5))) EXPECT_EQ(placement.cpus.size(), 2U);
}

TEST(RankPlacementTest, MemoryOnlyNodeGivesItsNearestNodeWithCpus) {
  MachineMaker maker(2);
  maker.gpu("0000:01:00.0", std::nullopt, 0);
  maker.machine.cores.clear();
  maker.machine.numa_nodes.push_back({.id = 250, .package = 1, .cpus = std::vector<int>{}});
  maker.machine.gpus[0].numa_node = 250;
  maker.machine.pci[0].numa_node = 250;
  const auto lost = placements_of(maker.machine);
  EXPECT_EQ(lost[0].memory_node, -1) << "no distance tells which node is near";
  EXPECT_TRUE(lost[0].cpus.empty());
  maker.machine.numa_distances = {{.from = 250, .to = 250, .value = 10},
                                  {.from = 250, .to = 0, .value = 80},
                                  {.from = 250, .to = 1, .value = 40}};
  const auto placements = placements_of(maker.machine);
  EXPECT_EQ(placements[0].memory_node, 1);
  EXPECT_EQ(placements[0].cpus, (std::vector<int>{4, 5, 6, 7}));
}

TEST(RankPlacementTest, ListOfNearCpusIsEnough) {
  MachineMaker maker(2);
  maker.gpu("0000:01:00.0", std::nullopt, std::nullopt);
  maker.machine.cores.clear();
  maker.machine.gpus[0].cpus = std::vector<int>{4, 5};
  const auto placements = placements_of(maker.machine);
  EXPECT_EQ(placements[0].memory_node, 1);
  EXPECT_EQ(placements[0].cpus, (std::vector<int>{4, 5}));
}

TEST(RankPlacementTest, UnknownPlaceStaysEmpty) {
  MachineMaker maker(2);
  maker.gpu("0000:01:00.0", std::nullopt, std::nullopt);
  const auto placements = placements_of(maker.machine);
  EXPECT_EQ(placements[0].memory_node, -1);
  EXPECT_TRUE(placements[0].cpus.empty());
}

}  // namespace
}  // namespace ringcomm::inline v0::topology
