// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "topology/rings/ring_graphs.hpp"

namespace ringcomm {
namespace {

TEST(RingsWithinTest, CubeMeshHasThirtyNvlinkRingsAndOneOfPairs) {
  const auto rings = rings_within(tests::cube_mesh(), 1);
  EXPECT_EQ(rings.size(), 30U);
  EXPECT_EQ(std::set(rings.begin(), rings.end()).size(), 30U);
  EXPECT_EQ(rings_within(tests::cube_mesh(), 0), (std::vector<std::vector<int>>{{0, 3, 2, 1, 5, 6, 7, 4}}));
}

TEST(RingsWithinTest, CompleteGraphsAndLimits) {
  EXPECT_EQ(rings_within(tests::complete_graph(8), 0, 5000).size(), 2520U);
  EXPECT_EQ(rings_within(tests::complete_graph(8), 0).size(), 1000U);
  EXPECT_TRUE(rings_within(tests::complete_graph(8), 0, 0).empty());
  EXPECT_EQ(rings_within(tests::complete_graph(1), 0).size(), 1U);
  EXPECT_EQ(rings_within(tests::complete_graph(2), 0).size(), 1U);
  EXPECT_TRUE(rings_within(tests::complete_graph(4, {.level = 3}), 2).empty());
  EXPECT_TRUE(rings_within({}, 2).empty());
}

TEST(RingsWithinTest, OneWayEdgesGiveOneWayRings) {
  auto graph = tests::complete_graph(4);
  graph.at(1, 0).level = 1;
  // Of 6 directed rings through 4 vertices, 2 use the edge 1-0.
  EXPECT_EQ(rings_within(graph, 0).size(), 4U);
}

}  // namespace
}  // namespace ringcomm
