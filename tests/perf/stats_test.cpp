// SPDX-License-Identifier: Apache-2.0
// Known answers.
#include "../../perf/stats.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace ringcomm::perf {
namespace {

TEST(PerfStatsTest, PercentilesAreNearestRank) {
  std::vector<double> samples(100);
  std::iota(samples.rbegin(), samples.rend(), 1.0);
  const Stats stats = stats_of(samples);
  EXPECT_EQ(stats.min, 1);
  EXPECT_EQ(stats.max, 100);
  EXPECT_EQ(stats.mean, 50.5);
  EXPECT_EQ(stats.p50, 50);
  EXPECT_EQ(stats.p95, 95);
  EXPECT_EQ(stats.p99, 99);
  EXPECT_NEAR(stats.stdev, 28.866, 0.001);
}

TEST(PerfStatsTest, NoneAndOneSample) {
  EXPECT_EQ(stats_of({}).mean, 0);
  EXPECT_EQ(stats_of({}).cv_percent(), 0);
  const Stats one = stats_of({3});
  EXPECT_EQ(one.p50, 3);
  EXPECT_EQ(one.p99, 3);
  EXPECT_EQ(one.stdev, 0);
}

}  // namespace
}  // namespace ringcomm::perf
