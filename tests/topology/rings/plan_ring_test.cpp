// SPDX-License-Identifier: Apache-2.0
// Single rings against brute force, on known machines, and under renumbering.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "topology/rings/ring_graphs.hpp"

namespace ringcomm {
namespace {

using tests::complete_graph;
using tests::random_graph;

struct Best {
  std::vector<int> counts{};
  std::vector<int> order{};  ///< the first in key order
};

/// Tries every order, in key order, from the vertex with the smallest key.
Best brute_force(const RingGraph& graph) {
  std::vector<int> order(static_cast<std::size_t>(graph.size));
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](int v) {
    return graph.keys.empty() ? std::int64_t{v} : graph.keys[static_cast<std::size_t>(v)];
  };
  const auto by_key = [&](int a, int b) { return key(a) < key(b); };
  std::sort(order.begin(), order.end(), by_key);
  int worst = 0;
  for (int a = 0; a < graph.size; ++a)
    for (int b = 0; b < graph.size; ++b)
      if (a != b) worst = std::max(worst, graph.at(a, b).level);
  Best best;
  do {
    std::vector<int> counts(static_cast<std::size_t>(worst) + 1);
    for (std::size_t i = 0; i < order.size() && order.size() > 1; ++i)
      ++counts[static_cast<std::size_t>(worst - graph.at(order[i], order[(i + 1) % order.size()]).level)];
    if (best.order.empty() || counts < best.counts) best = {counts, order};
  } while (std::next_permutation(order.begin() + 1, order.end(), by_key));
  return best;
}

TEST(PlanRingTest, EqualsBruteForce) {
  std::mt19937 random(1);
  for (int round = 0; round < 1000; ++round) {
    const int size = 1 + (round % 8 == 7 && round % 5 != 0 ? 6 : round % 8);
    const int levels = 1 + static_cast<int>(random() % (round % 3 == 0 ? 60 : 5));
    const auto graph = random_graph(random, size, levels, round % 2 == 0, round % 4 < 2);
    const auto expected = brute_force(graph);
    const auto plan = plan_ring(graph);
    ASSERT_TRUE(plan.is_ok()) << plan.status().message();
    EXPECT_EQ(plan.value().level_counts, expected.counts) << "round " << round;
    EXPECT_EQ(plan.value().order, expected.order) << "round " << round;
    EXPECT_TRUE(plan.value().is_exact);
  }
}

TEST(PlanRingTest, HeuristicClaimsProofOnlyForBestRings) {
  std::mt19937 random(2);
  int proven = 0;
  int best = 0;
  for (int round = 0; round < 200; ++round) {
    const auto graph = random_graph(random, 4 + (round % 7), 2 + (round % 4), round % 2 == 0, true);
    const auto exact = plan_ring(graph).value();
    const auto heuristic = plan_ring(graph, {.exact_max = 2}).value();
    EXPECT_GE(heuristic.level_counts, exact.level_counts);
    best += heuristic.level_counts == exact.level_counts ? 1 : 0;
    if (!heuristic.is_exact) continue;
    ++proven;
    EXPECT_EQ(heuristic.level_counts, exact.level_counts) << "round " << round;
  }
  EXPECT_GT(proven, 10);
  EXPECT_GE(best, 190);
}

TEST(PlanRingTest, RenumberingMovesTheRingAlong) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    const int size = round % 3 == 0 ? 20 : 5 + (round % 6);
    const auto graph = random_graph(random, size, 4, round % 2 == 0, true);
    const auto to = tests::random_permutation(random, size);
    const RingOptions options{.exact_max = 16, .starts = 4};
    auto before = plan_ring(graph, options).value();
    const auto after = plan_ring(tests::permuted(graph, to), options).value();
    for (int& v : before.order) v = to[static_cast<std::size_t>(v)];
    EXPECT_EQ(after.order, before.order);
    EXPECT_EQ(after.level_counts, before.level_counts);
  }
}

TEST(PlanRingTest, OnlyTheOrderOfLevelsMatters) {
  std::mt19937 random(4);
  for (int round = 0; round < 50; ++round) {
    auto graph = random_graph(random, 9, 5, round % 2 == 0, false);
    const auto before = plan_ring(graph).value();
    for (auto& edge : graph.edges) edge.level = (edge.level * edge.level * 7) + 3;
    EXPECT_EQ(plan_ring(graph).value().order, before.order);
  }
}

TEST(PlanRingTest, CubeMesh) {
  const auto plan = plan_ring(tests::cube_mesh()).value();
  EXPECT_EQ(plan.order, (std::vector{0, 3, 2, 1, 5, 6, 7, 4}));
  EXPECT_EQ(plan.level_counts, (std::vector{0, 0, 8}));
  EXPECT_EQ(plan.bottleneck_gb_per_s, 50.0);
  const auto plain = judge_ring(tests::cube_mesh(), {0, 1, 2, 3, 4, 5, 6, 7}).value();
  EXPECT_EQ(plain.level_counts.front(), 2);
  EXPECT_FALSE(plain.is_exact);
}

TEST(PlanRingTest, ShuffledCubeMeshesReachTheProvenOptimum) {
  std::mt19937 random(5);
  for (int shuffle = 0; shuffle < 20; ++shuffle) {
    const auto plan = plan_ring(tests::shuffled_cube_meshes(random, 9)).value();
    EXPECT_EQ(plan.level_counts, (std::vector{9, 0, 0, 63}));
    EXPECT_TRUE(plan.is_exact);
  }
}

TEST(PlanRingTest, TreesOfAnySizeAreProven) {
  // 5 hosts of 2 sockets of 2 switches of 3: each group is entered and left once.
  std::mt19937 random(6);
  auto graph = complete_graph(60);
  for (int a = 0; a < 60; ++a)
    for (int b = 0; b < 60; ++b)
      graph.at(a, b).level = a / 3 == b / 3 ? 0 : a / 6 == b / 6 ? 1 : a / 12 == b / 12 ? 2 : 5;
  const auto plan = plan_ring(tests::permuted(graph, tests::random_permutation(random, 60))).value();
  EXPECT_EQ(plan.level_counts, (std::vector{5, 0, 0, 5, 10, 40}));
  EXPECT_TRUE(plan.is_exact);
}

TEST(PlanRingTest, SmallestSizes) {
  const auto one = plan_ring(complete_graph(1)).value();
  EXPECT_EQ(one.order, std::vector{0});
  EXPECT_EQ(one.level_counts, std::vector{0});
  EXPECT_FALSE(one.bottleneck_gb_per_s.has_value());
  auto two = complete_graph(2, {.level = 1, .gb_per_s = 4.0});
  two.keys = {9, 3};
  EXPECT_EQ(plan_ring(two).value().order, (std::vector{1, 0}));
  EXPECT_EQ(plan_ring(two).value().level_counts, (std::vector{2, 0}));
}

TEST(PlanRingTest, RefusesGraphsThatDoNotFitTogether) {
  const auto refused = [](const RingGraph& graph) {
    return plan_ring(graph).status().code() == StatusCode::invalid_argument;
  };
  auto graph = complete_graph(4);
  EXPECT_FALSE(refused(graph));
  EXPECT_TRUE(refused({}));
  graph.edges.pop_back();
  EXPECT_TRUE(refused(graph));
  graph = complete_graph(4);
  graph.keys = {1, 2, 3};
  EXPECT_TRUE(refused(graph));
  graph.keys = {1, 2, 3, 1};
  EXPECT_TRUE(refused(graph));
  graph = complete_graph(4);
  graph.at(1, 2).level = -1;
  EXPECT_TRUE(refused(graph));
  graph = complete_graph(4);
  graph.resources = {{.name = "bridge", .gb_per_s = 1.0, .edges = {16}}};
  EXPECT_TRUE(refused(graph));
}

}  // namespace
}  // namespace ringcomm
