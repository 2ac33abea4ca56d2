// SPDX-License-Identifier: Apache-2.0
// Rings side by side: the decompositions of real fabrics, found by search.
#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <random>

#include "topology/rings/ring_graphs.hpp"

namespace ringcomm {
namespace {

using tests::complete_graph;

/// How many rings use each directed edge.
std::map<std::pair<int, int>, int> uses(const RingSet& set) {
  std::map<std::pair<int, int>, int> count;
  for (const auto& ring : set.rings)
    for (std::size_t i = 0; i < ring.order.size(); ++i) {
      const int from = ring.order[i];
      const int to = ring.order[(i + 1) % ring.order.size()];
      ++count[{from, to}];
      if (ring.both_directions) ++count[{to, from}];
    }
  return count;
}

void expect_disjoint(const RingGraph& graph, const RingSet& set) {
  double shares = 0;
  for (const auto& ring : set.rings) {
    EXPECT_TRUE(judge_ring(graph, ring.order).is_ok());
    shares += ring.share;
  }
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_LE(set.links_used, set.links_total);
  if (set.rings.size() == 1) return;
  for (const auto& [edge, count] : uses(set))
    EXPECT_LE(count, graph.at(edge.first, edge.second).links) << edge.first << "-" << edge.second;
}

TEST(DisjointRingsTest, CubeMeshUsesAllLinksInAnyNumbering) {
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    const auto graph = round == 0 ? tests::cube_mesh()
                                  : tests::permuted(tests::cube_mesh(), tests::random_permutation(random, 8));
    const auto set = plan_disjoint_rings(graph).value();
    ASSERT_EQ(set.rings.size(), 3U) << set.explanation;
    expect_disjoint(graph, set);
    EXPECT_EQ(set.links_used, 48);
    EXPECT_EQ(set.links_total, 48);
    EXPECT_FALSE(set.is_directed);
    int best = 0;
    for (const auto& ring : set.rings) {
      EXPECT_TRUE(ring.both_directions);
      EXPECT_EQ(ring.bottleneck_gb_per_s, 25.0);
      EXPECT_NEAR(ring.share, 1.0 / 3, 1e-9);
      best += ring.is_exact ? 1 : 0;
    }
    EXPECT_EQ(best, 1) << "the best single ring is one of them";
  }
}

TEST(DisjointRingsTest, CloudNumberingOfTheCubeMesh) {
  // NV2 cycle [0 3 2 1 7 4 5 6]; the rest is as the other covers of that machine need it.
  auto graph = complete_graph(8, {.level = 2, .gb_per_s = 9.0, .links = 0});
  const std::vector<std::vector<int>> cover{
      {0, 3, 2, 1, 7, 4, 5, 6}, {0, 1, 2, 3, 5, 4, 7, 6}, {0, 2, 4, 6, 5, 7, 1, 3}};
  for (const auto& ring : cover)
    for (std::size_t i = 0; i < 8; ++i) {
      const int links = graph.at(ring[i], ring[(i + 1) % 8]).links + 1;
      tests::join(graph, ring[i], ring[(i + 1) % 8],
                  {.level = 2 - links, .gb_per_s = 25.0 * links, .links = links});
    }
  const auto set = plan_disjoint_rings(graph).value();
  EXPECT_EQ(set.rings.size(), 3U);
  EXPECT_EQ(set.links_used, 48);
  expect_disjoint(graph, set);
  EXPECT_EQ(plan_ring(graph).value().order, cover.front());
}

TEST(DisjointRingsTest, HalfACubeMesh) {
  const auto graph = tests::nvlink_graph({"0112", "1021", "1202", "2120"});
  const auto set = plan_disjoint_rings(graph).value();
  expect_disjoint(graph, set);
  ASSERT_EQ(set.rings.size(), 2U) << set.explanation;
  EXPECT_EQ(set.rings[0].order, (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(set.rings[1].order, (std::vector{0, 2, 1, 3}));
  EXPECT_TRUE(set.rings[0].both_directions);
  EXPECT_EQ(set.links_used, 16);
  EXPECT_EQ(set.links_total, 18);
}

TEST(DisjointRingsTest, CompleteGraphOfEightHasSevenDirectedRings) {
  const auto graph = complete_graph(8, {.level = 0, .gb_per_s = 64.0, .links = 1});
  const auto set = plan_disjoint_rings(graph).value();
  EXPECT_EQ(set.rings.size(), 7U);
  EXPECT_TRUE(set.is_directed);
  EXPECT_EQ(set.links_used, 56);
  for (const auto& ring : set.rings) EXPECT_FALSE(ring.both_directions);
  expect_disjoint(graph, set);
}

TEST(DisjointRingsTest, CompleteGraphsOfOtherSizes) {
  // Odd: (n - 1) / 2 rings both ways use all. Even: n - 1 directed ones, but for 4 and 6 there are none.
  const std::map<int, std::pair<std::size_t, int>> expected{
      {3, {1, 6}}, {4, {1, 8}}, {5, {2, 20}}, {6, {2, 24}}, {7, {3, 42}}, {9, {4, 72}}, {10, {9, 90}}};
  for (const auto& [size, wanted] : expected) {
    const auto graph = complete_graph(size, {.level = 0, .gb_per_s = 64.0, .links = 1});
    const auto set = plan_disjoint_rings(graph).value();
    EXPECT_EQ(set.rings.size(), wanted.first) << size << ": " << set.explanation;
    EXPECT_EQ(set.links_used, wanted.second) << size;
    EXPECT_EQ(set.is_directed, size == 10);
    expect_disjoint(graph, set);
  }
}

TEST(DisjointRingsTest, FourGpusWithSeveralLinksPerPair) {
  for (const int links : {2, 4, 12}) {
    const auto graph = complete_graph(4, {.level = 0, .gb_per_s = 20.0 * links, .links = links});
    const auto set = plan_disjoint_rings(graph).value();
    ASSERT_EQ(set.rings.size(), 3U) << set.explanation;
    EXPECT_EQ(set.links_used, 12 * links);
    expect_disjoint(graph, set);
    for (const auto& ring : set.rings) EXPECT_EQ(ring.bottleneck_gb_per_s, 10.0 * links);
  }
  const auto odd = plan_disjoint_rings(complete_graph(4, {.level = 0, .gb_per_s = 60.0, .links = 3})).value();
  EXPECT_EQ(odd.links_used, 32);
  EXPECT_EQ(odd.links_total, 36);
  EXPECT_NE(odd.explanation.find("32 of 36"), std::string::npos) << odd.explanation;
  ASSERT_EQ(odd.rings.size(), 3U);
  double widest = 0;
  for (const auto& ring : odd.rings) widest = std::max(widest, ring.share);
  EXPECT_NEAR(widest, 0.5, 1e-9);
}

/// Seconds of this CPU, so that a busy machine fails nothing.
double seconds_to_plan(int size, int links) {
  const auto graph = complete_graph(size, {.level = 0, .gb_per_s = 20.0 * links, .links = links});
  const auto before = std::clock();
  const auto set = plan_disjoint_rings(graph).value();
  EXPECT_NE(set.explanation.find("cut short"), std::string::npos) << set.explanation;
  return static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
}

TEST(DisjointRingsTest, SearchIsBoundedForAnyCountOfLinks) {
  constexpr double kSecondsMax = 10;  // about 1 without optimisation
  EXPECT_LT(seconds_to_plan(8, 4000), kSecondsMax);
  EXPECT_LT(seconds_to_plan(127, 8), kSecondsMax);
}

TEST(DisjointRingsTest, SwitchesGiveOneRing) {
  const auto set =
      plan_disjoint_rings(complete_graph(8, {.level = 0, .gb_per_s = 370.0, .links = 0})).value();
  ASSERT_EQ(set.rings.size(), 1U);
  EXPECT_TRUE(set.rings.front().both_directions);
  EXPECT_EQ(set.rings.front().order, (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(set.links_total, 0);
  EXPECT_EQ(set.rings.front().share, 1);
}

TEST(DisjointRingsTest, WhatBothDirectionsShareDecides) {
  auto graph = complete_graph(4, {.level = 0, .gb_per_s = 24.0, .links = 0});
  RingResource bridge{.name = "host bridge", .gb_per_s = 48.0};
  for (int edge = 0; edge < 16; ++edge) bridge.edges.push_back(edge);
  graph.resources = {bridge};
  // 4 edges at 12, or 8 edges at 6: the same.
  EXPECT_FALSE(plan_disjoint_rings(graph).value().rings.front().both_directions);
  graph.resources.front().gb_per_s = 500.0;
  EXPECT_TRUE(plan_disjoint_rings(graph).value().rings.front().both_directions);
  graph.resources.front().gb_per_s.reset();
  EXPECT_FALSE(plan_disjoint_rings(graph).value().rings.front().both_directions);
  graph.resources.clear();
  graph.at(0, 1).gb_per_s.reset();
  EXPECT_TRUE(plan_disjoint_rings(graph).value().rings.front().both_directions);
}

TEST(DisjointRingsTest, NeverTwoRingsOverOneResource) {
  auto graph = complete_graph(5, {.level = 0, .gb_per_s = 20.0, .links = 1});
  EXPECT_EQ(plan_disjoint_rings(graph).value().rings.size(), 2U);
  RingResource uplink{.name = "uplink", .gb_per_s = 1000.0};
  for (int to = 1; to < 5; ++to) uplink.edges.push_back(to);
  graph.resources = {uplink};
  EXPECT_EQ(plan_disjoint_rings(graph).value().rings.size(), 1U);
}

TEST(DisjointRingsTest, OneRingWhenItMustLeaveTheLinks) {
  // Two squares of links, joined over the host only.
  auto graph = complete_graph(8, {.level = 3, .gb_per_s = 9.0, .links = 0});
  for (const int base : {0, 4})
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < a; ++b)
        tests::join(graph, base + a, base + b, {.level = 0, .gb_per_s = 50.0, .links = 2});
  const auto set = plan_disjoint_rings(graph).value();
  ASSERT_EQ(set.rings.size(), 1U);
  EXPECT_EQ(set.rings.front().level_counts.front(), 2);
}

TEST(DisjointRingsTest, TheBestRingIsNotGivenUpForLinks) {
  // The better levels make a ring without links, the others one of links.
  auto graph = complete_graph(5, {.level = 1, .gb_per_s = 400.0, .links = 1});
  for (int v = 0; v < 5; ++v) tests::join(graph, v, (v + 1) % 5, {.level = 0, .gb_per_s = 100.0, .links = 0});
  const auto set = plan_disjoint_rings(graph).value();
  ASSERT_EQ(set.rings.size(), 1U);
  EXPECT_EQ(set.rings.front().order, (std::vector{0, 1, 2, 3, 4}));
}

TEST(DisjointRingsTest, OneRingWhenMoreCarryLess) {
  auto graph = tests::cube_mesh();
  for (auto& edge : graph.edges)
    if (edge.links == 1) edge.gb_per_s = 2.0;
  const auto set = plan_disjoint_rings(graph).value();
  ASSERT_EQ(set.rings.size(), 1U) << set.explanation;
  EXPECT_EQ(set.rings.front().bottleneck_gb_per_s, 50.0);
}

TEST(DisjointRingsTest, RingsRepeatAsLittleAsTheyCan) {
  const auto set = plan_disjoint_rings(complete_graph(5, {.level = 0, .gb_per_s = 50.0, .links = 2})).value();
  EXPECT_EQ(set.rings.size(), 4U) << set.explanation;
  EXPECT_EQ(set.links_used, 40);
}

TEST(DisjointRingsTest, OneAndTwoVertices) {
  const auto one = plan_disjoint_rings(complete_graph(1)).value();
  EXPECT_EQ(one.rings.size(), 1U);
  const auto two =
      plan_disjoint_rings(complete_graph(2, {.level = 0, .gb_per_s = 240.0, .links = 12})).value();
  ASSERT_EQ(two.rings.size(), 1U);
  EXPECT_EQ(two.links_used, 24);
  EXPECT_FALSE(two.rings.front().both_directions);
  EXPECT_EQ(two.rings.front().bottleneck_gb_per_s, 240.0);
}

TEST(DisjointRingsTest, RandomLinkGraphsStayDisjoint) {
  std::mt19937 random(9);
  int several = 0;
  for (int round = 0; round < 60; ++round) {
    auto graph = complete_graph(4 + (round % 5), {.level = 4, .gb_per_s = 9.0, .links = 0});
    for (int a = 0; a < graph.size; ++a)
      for (int b = 0; b < a; ++b) {
        const int links = static_cast<int>(random() % 4);
        if (links > 0)
          tests::join(graph, a, b, {.level = 3 - links, .gb_per_s = 25.0 * links, .links = links});
      }
    const auto set = plan_disjoint_rings(graph).value();
    expect_disjoint(graph, set);
    several += set.rings.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(several, 20);
}

}  // namespace
}  // namespace ringcomm
