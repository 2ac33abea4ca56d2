// SPDX-License-Identifier: Apache-2.0
// Known answers: made-up rates whose losses anyone can compute.
#include "../../perf/sweep.hpp"

#include <gtest/gtest.h>

namespace ringcomm::perf {
namespace {

std::vector<SweepPoint> points(const std::vector<std::pair<int, double>>& rates) {
  std::vector<SweepPoint> made;
  for (const auto& [ranks, rate] : rates)
    made.push_back({.ranks = ranks, .size = 64, .time_us = 1, .rate = rate});
  return made;
}

TEST(PerfSweepTest, RanksDoubleAndEndAtTheMost) {
  EXPECT_EQ(sweep_ranks(1), (std::vector<int>{1}));
  EXPECT_EQ(sweep_ranks(2), (std::vector<int>{1, 2}));
  EXPECT_EQ(sweep_ranks(3), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(sweep_ranks(8), (std::vector<int>{1, 2, 4, 8}));
}

TEST(PerfSweepTest, GrowingRatesAreNoLoss) {
  const SweepVerdict verdict = judge_sweep(points({{1, 10}, {2, 19}, {4, 30}}));
  EXPECT_EQ(verdict.best_ranks, 4);
  EXPECT_EQ(verdict.loss, 0);
  EXPECT_FALSE(verdict.is_flagged());
}

TEST(PerfSweepTest, FewestRanksWithinFivePercentAreWhereMoreStopPaying) {
  EXPECT_EQ(judge_sweep(points({{1, 10}, {2, 19.5}, {4, 20}})).best_ranks, 2);
  EXPECT_EQ(judge_sweep(points({{1, 10}, {2, 18.9}, {4, 20}})).best_ranks, 4);
  EXPECT_EQ(judge_sweep(points({{1, 10}})).best_ranks, 1);
}

TEST(PerfSweepTest, LossOfMoreThanAFifthAgainstFewerIsFlagged) {
  EXPECT_FALSE(judge_sweep(points({{1, 10}, {2, 8.1}})).is_flagged());
  const SweepVerdict verdict = judge_sweep(points({{1, 10}, {2, 20}, {4, 12}, {8, 13}}));
  EXPECT_TRUE(verdict.is_flagged());
  EXPECT_NEAR(verdict.loss, 0.4, 1e-12);
  EXPECT_EQ(verdict.loss_ranks, 4);
  EXPECT_EQ(verdict.loss_against, 2);
}

TEST(PerfSweepTest, TextFlagsTheLossOfEachSize) {
  Options options;
  options.op = "all_gather";
  auto made = points({{1, 10e9}, {1, 10e9}, {2, 5e9}, {2, 15e9}});  // two sizes of each number of ranks
  made[1].size = made[3].size = 128;
  const std::string text = format_sweep(options, {.kind = "threads", .ranks = 2}, made);
  EXPECT_NE(text.find("# size 64: more than 1 rank do not pay; LOSS of 50 % with 2 ranks against 1\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("# size 128: more than 2 ranks do not pay\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace ringcomm::perf
