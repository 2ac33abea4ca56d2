// SPDX-License-Identifier: Apache-2.0
// Two oracles: placements worked out by hand for invented machines, and, for a sweep of machines, the
// promises themselves checked one by one (whole cores, no core shared without need, least share, one memory
// node).
#include "ringcomm/topology/binding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace ringcomm {
namespace {

using Cpus = std::vector<int>;

struct Node {
  int package;
  int memory_node;
  int cores;
};

/// Hardware thread t of core c has the number c + t * (number of cores), as Linux usually counts.
std::vector<CoreInfo> machine(const std::vector<Node>& nodes, int threads = 1) {
  int total = 0;
  for (const auto& node : nodes) total += node.cores;
  std::vector<CoreInfo> cores;
  for (const auto& node : nodes) {
    for (int i = 0; i < node.cores; ++i) {
      CoreInfo core{.package = node.package, .memory_node = node.memory_node, .cpus = {}};
      for (int t = 0; t < threads; ++t) core.cpus.push_back(static_cast<int>(cores.size()) + t * total);
      cores.push_back(core);
    }
  }
  return cores;
}

std::vector<Cpus> cpus_of(const std::vector<Placement>& placements) {
  std::vector<Cpus> lists;
  for (const auto& placement : placements) lists.push_back(placement.cpus);
  return lists;
}
std::vector<int> nodes_of(const std::vector<Placement>& placements) {
  std::vector<int> nodes;
  for (const auto& placement : placements) nodes.push_back(placement.memory_node);
  return nodes;
}

const std::vector<Node> kTwoByTwoByFour{{0, 0, 4}, {0, 1, 4}, {1, 2, 4}, {1, 3, 4}};

TEST(SpreadRanksTest, FourRanksGetOneMemoryNodeEach) {
  const auto placements = spread_ranks(machine(kTwoByTwoByFour), 4);
  EXPECT_EQ(cpus_of(placements),
            (std::vector<Cpus>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}));
  EXPECT_EQ(nodes_of(placements), (std::vector<int>{0, 1, 2, 3}));
}

TEST(SpreadRanksTest, EightRanksSplitEachNode) {
  const auto placements = spread_ranks(machine(kTwoByTwoByFour), 8);
  EXPECT_EQ(cpus_of(placements),
            (std::vector<Cpus>{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}));
  EXPECT_EQ(nodes_of(placements), (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
}

TEST(SpreadRanksTest, FiveRanksNeverStraddleTwoNodes) {
  const auto placements = spread_ranks(machine(kTwoByTwoByFour), 5);
  EXPECT_EQ(cpus_of(placements),
            (std::vector<Cpus>{{0, 1}, {2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}));
}

TEST(SpreadRanksTest, FewerRanksThanNodesTakeWholeNodes) {
  const auto two = spread_ranks(machine(kTwoByTwoByFour), 2);
  EXPECT_EQ(cpus_of(two), (std::vector<Cpus>{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}));
  EXPECT_EQ(nodes_of(two), (std::vector<int>{-1, -1}));
  const auto three = spread_ranks(machine(kTwoByTwoByFour), 3);
  EXPECT_EQ(nodes_of(three), (std::vector<int>{0, 1, -1}));
  const auto one = spread_ranks(machine(kTwoByTwoByFour), 1);
  EXPECT_EQ(one[0].cpus.size(), 16U);
  EXPECT_EQ(one[0].memory_node, -1);
}

TEST(SpreadRanksTest, ThreadsOfACoreStayTogetherAndFirstThreadsComeFirst) {
  const auto placements = spread_ranks(machine({{0, 0, 4}}, 2), 2);
  EXPECT_EQ(cpus_of(placements), (std::vector<Cpus>{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(nodes_of(placements), (std::vector<int>{0, 0}));
}

TEST(SpreadRanksTest, PartlyAllowedCoreGivesTheThreadsItHas) {
  auto cores = machine({{0, 0, 2}}, 2);
  cores[0].cpus = {2};
  EXPECT_EQ(cpus_of(spread_ranks(cores, 1)), (std::vector<Cpus>{{2, 1, 3}}));
}

TEST(SpreadRanksTest, OneCoreIsSharedByFourRanks) {
  const auto placements = spread_ranks(machine({{0, 0, 1}}), 4);
  EXPECT_EQ(cpus_of(placements), (std::vector<Cpus>{{0}, {0}, {0}, {0}}));
  EXPECT_EQ(nodes_of(placements), (std::vector<int>{0, 0, 0, 0}));
}

TEST(SpreadRanksTest, MoreRanksThanCoresGoRoundRobin) {
  const auto placements = spread_ranks(machine({{0, 0, 2}, {1, 1, 1}}), 5);
  EXPECT_EQ(cpus_of(placements), (std::vector<Cpus>{{0}, {1}, {2}, {0}, {1}}));
  EXPECT_EQ(nodes_of(placements), (std::vector<int>{0, 0, 1, 0, 0}));
}

TEST(SpreadRanksTest, UnevenNodesServeTheLeastServedRankBest) {
  // Two ranks on nodes of 1 and 7 cores: 3 and 4 cores of the large node beat 1 and 7.
  const auto placements = spread_ranks(machine({{0, 0, 1}, {0, 1, 7}}), 2);
  EXPECT_EQ(cpus_of(placements), (std::vector<Cpus>{{1, 2, 3}, {4, 5, 6, 7}}));
  EXPECT_EQ(nodes_of(placements), (std::vector<int>{1, 1}));
}

TEST(SpreadRanksTest, UnevenNodesAreMergedEvenly) {
  const auto placements = spread_ranks(machine({{0, 0, 1}, {0, 1, 7}, {1, 2, 8}}), 2);
  EXPECT_EQ(placements[0].cpus.size(), 8U);
  EXPECT_EQ(placements[1].cpus, (Cpus{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(nodes_of(placements), (std::vector<int>{-1, 2}));
}

TEST(SpreadRanksTest, PackagesThatShareANodeAreKeptApart) {
  const auto placements = spread_ranks(machine({{0, 0, 3}, {1, 0, 3}}), 2);
  EXPECT_EQ(cpus_of(placements), (std::vector<Cpus>{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(nodes_of(spread_ranks(machine({{0, 0, 3}, {1, 0, 3}}), 1)), std::vector<int>{0});
  EXPECT_EQ(cpus_of(spread_ranks(machine({{0, 0, 2}, {1, 0, 4}}), 2)),
            (std::vector<Cpus>{{0, 1}, {2, 3, 4, 5}}));
}

TEST(SpreadRanksTest, InterleavedListIsSortedByNode) {
  auto cores = machine({{0, 0, 2}, {0, 1, 2}});
  std::swap(cores[1], cores[2]);
  EXPECT_EQ(cpus_of(spread_ranks(cores, 2)), (std::vector<Cpus>{{0, 1}, {2, 3}}));
}

TEST(SpreadRanksTest, NoCoresLeaveEveryRankWhereItIs) {
  for (const auto& cores : {std::vector<CoreInfo>{}, std::vector<CoreInfo>(3)}) {
    const auto placements = spread_ranks(cores, 3);
    ASSERT_EQ(placements.size(), 3U);
    for (const auto& placement : placements) {
      EXPECT_TRUE(placement.cpus.empty());
      EXPECT_EQ(placement.memory_node, -1);
    }
  }
}

TEST(SpreadRanksTest, CoreWithoutCpusIsPassedOver) {
  auto cores = machine({{0, 0, 3}});
  cores[1].cpus.clear();
  EXPECT_EQ(cpus_of(spread_ranks(cores, 3)), (std::vector<Cpus>{{0}, {2}, {0}}));
}

TEST(SpreadRanksTest, NoRanksGiveNoPlacements) {
  EXPECT_TRUE(spread_ranks(machine({{0, 0, 4}}), 0).empty());
  EXPECT_TRUE(spread_ranks(machine({{0, 0, 4}}), -3).empty());
}

/// What brute force over all ways to give each node its ranks says the least-served rank can have.
std::size_t best_least_share(const std::vector<Node>& nodes, std::size_t at, int ranks) {
  if (at == nodes.size()) return ranks == 0 ? 1000 : 0;
  std::size_t best = 0;
  for (int here = 0; here <= std::min(ranks, nodes[at].cores); ++here) {
    const std::size_t share = here == 0 ? 1000 : static_cast<std::size_t>(nodes[at].cores / here);
    best = std::max(best, std::min(share, best_least_share(nodes, at + 1, ranks - here)));
  }
  return best;
}

void expect_promises(const std::vector<Node>& nodes, int ranks) {
  const auto cores = machine(nodes, 2);
  const auto placements = spread_ranks(cores, ranks);
  ASSERT_EQ(placements.size(), static_cast<std::size_t>(ranks));
  std::map<int, const CoreInfo*> core_of;
  for (const auto& core : cores) {
    for (const int cpu : core.cpus) core_of[cpu] = &core;
  }
  std::set<int> seen;
  std::size_t least = 1000;
  for (const auto& placement : placements) {
    std::set<const CoreInfo*> mine;
    for (const int cpu : placement.cpus) {
      EXPECT_TRUE(seen.insert(cpu).second) << "cpu " << cpu << " given twice";
      mine.insert(core_of.at(cpu));
    }
    EXPECT_EQ(placement.cpus.size(), 2 * mine.size()) << "part of a core";
    for (const auto* core : mine) EXPECT_EQ(core->memory_node, placement.memory_node);
    least = std::min(least, mine.size());
  }
  EXPECT_EQ(least, best_least_share(nodes, 0, ranks));
}

TEST(SpreadRanksTest, PromisesHoldForManyMachines) {
  for (int a = 1; a <= 5; ++a) {
    for (int b = 1; b <= 5; ++b) {
      for (int c = 1; c <= 5; ++c) {
        const std::vector<Node> nodes{{0, 0, a}, {0, 1, b}, {1, 2, c}};
        for (int ranks = 3; ranks <= a + b + c; ++ranks) {
          SCOPED_TRACE(testing::Message() << a << '+' << b << '+' << c << " cores, " << ranks << " ranks");
          expect_promises(nodes, ranks);
        }
      }
    }
  }
}

}  // namespace
}  // namespace ringcomm
