// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "topology/rings/ring_graphs.hpp"

namespace ringcomm {
namespace {

TEST(JudgeRingTest, CountsLevelsFromTheWorst) {
  auto graph = tests::complete_graph(4, {.level = 2, .gb_per_s = 10.0});
  tests::join(graph, 0, 1, {.level = 0, .gb_per_s = 50.0});
  tests::join(graph, 2, 3, {.level = 0, .gb_per_s = 50.0});
  const auto judged = judge_ring(graph, {2, 3, 0, 1}).value();
  EXPECT_EQ(judged.order, (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(judged.level_counts, (std::vector{2, 0, 2}));
  EXPECT_EQ(judged.bottleneck_gb_per_s, 10.0);
}

TEST(JudgeRingTest, EdgesShareAResource) {
  auto graph = tests::complete_graph(4, {.level = 0, .gb_per_s = 24.0});
  graph.resources = {
      {.name = "uplink", .gb_per_s = 30.0, .edges = {(0 * 4) + 2, (0 * 4) + 3, (1 * 4) + 2, (1 * 4) + 3}}};
  EXPECT_EQ(judge_ring(graph, {0, 1, 2, 3}).value().bottleneck_gb_per_s, 24.0);
  EXPECT_EQ(judge_ring(graph, {0, 2, 1, 3}).value().bottleneck_gb_per_s, 15.0);
}

TEST(JudgeRingTest, UnknownIsNotANumber) {
  auto graph = tests::complete_graph(4, {.level = 0, .gb_per_s = 24.0});
  graph.at(1, 2).gb_per_s.reset();
  EXPECT_FALSE(judge_ring(graph, {0, 1, 2, 3}).value().bottleneck_gb_per_s.has_value());
  EXPECT_TRUE(judge_ring(graph, {0, 2, 1, 3}).value().bottleneck_gb_per_s.has_value());
  graph.resources = {{.name = "socket link", .gb_per_s = {}, .edges = {(0 * 4) + 2}}};
  EXPECT_FALSE(judge_ring(graph, {0, 2, 1, 3}).value().bottleneck_gb_per_s.has_value());
  EXPECT_TRUE(judge_ring(graph, {0, 3, 2, 1}).value().bottleneck_gb_per_s.has_value());
}

TEST(JudgeRingTest, RefusesWhatIsNoPermutation) {
  const auto graph = tests::complete_graph(3);
  for (const std::vector<int>& order : {std::vector{0, 1}, {0, 1, 1}, {0, 1, 3}, {0, 1, -1}, {0, 1, 2, 0}})
    EXPECT_EQ(judge_ring(graph, order).status().code(), StatusCode::invalid_argument);
}

}  // namespace
}  // namespace ringcomm
