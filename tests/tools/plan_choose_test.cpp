// SPDX-License-Identifier: Apache-2.0
// Which split is taken: against an exhaustive look at the same candidates, and refusals word by word.
#include <gtest/gtest.h>

#include <chrono>

#include "plan_numbers.hpp"

namespace ringcomm::planner {
namespace {

Request request_of(int hosts, std::int64_t tokens = 131072) {
  return {.shape = llama3_8b(), .work = {.tokens = tokens}, .fabric = eight_gpus(hosts), .ranks = hosts * 8};
}

TEST(PlanChooseTest, TheBestIsTheLeastOfAllCandidates) {
  const Request request = request_of(2);
  const auto choice = choose(request);
  ASSERT_TRUE(choice.is_ok()) << choice.status().to_string();
  int candidates = 0;
  for (int tp = 1; tp <= 8; ++tp) {
    for (int cp = 1; cp <= 16; ++cp) {
      if (tp * cp != 16 || !check_split(request.shape, request.work, {.tp = tp, .cp = cp}).is_ok()) continue;
      for (const Strategy strategy : kStrategies) {
        const Candidate other = judge(request, {.tp = tp, .cp = cp}, strategy);
        if (!other.refused.empty()) continue;
        EXPECT_LE(*choice.value().best.compared_us(request), *other.compared_us(request));
        ++candidates;
      }
    }
  }
  EXPECT_GE(candidates, 12);
  EXPECT_EQ(choice.value().best.split.ranks(), 16);
}

TEST(PlanChooseTest, WithoutRatesTheLeastMemoryIsTaken) {
  Request request = request_of(1);
  request.fabric.tflops.reset();
  const auto choice = choose(request);
  ASSERT_TRUE(choice.is_ok());
  EXPECT_FALSE(choice.value().best.time.has_value());
  EXPECT_EQ(choice.value().best.missing.compute,
            "no GPU rate: give --tflops (attained, not the data sheet's)");
  for (const Candidate& other : choice.value().by_cp)
    EXPECT_LE(choice.value().best.memory.known_bytes, other.memory.known_bytes);
}

TEST(PlanChooseTest, AnUnknownBandwidthMakesTheTimeUnknown) {
  Request request = request_of(1);
  request.tp = 1;
  request.fabric.local.name = "SYS";
  request.fabric.local.bandwidth = {};
  const auto choice = choose(request);
  ASSERT_TRUE(choice.is_ok());
  EXPECT_FALSE(choice.value().best.time.has_value());
  EXPECT_EQ(choice.value().best.missing.transfer,
            "no bandwidth for SYS: run ringcomm-perf --calibrate or give --gb-per-s");
  request.fabric.local.bandwidth.gb_per_s = 10;
  request.fabric.hosts = 2;
  request.ranks = 16;
  request.fabric.nics_per_host.reset();
  EXPECT_EQ(choose(request).value().best.missing.transfer, "the number of NICs of a host: give --nics");
}

TEST(PlanChooseTest, WhatDoesNotFitIsNotTaken) {
  Request request = request_of(1, 1 << 20);
  const double unlimited = choose(request).value().best.memory.known_bytes;
  request.fabric.gpu_gb = unlimited / 1e9 - 0.001;  // what is fastest does not fit
  const auto choice = choose(request);
  ASSERT_TRUE(choice.is_ok());
  EXPECT_TRUE(choice.value().best.fits);
  EXPECT_LT(choice.value().best.memory.known_bytes, unlimited);
  request.fabric.gpu_gb = 1;
  const auto none = choose(request);
  ASSERT_TRUE(none.is_ok());
  EXPECT_FALSE(none.value().best.fits);
  EXPECT_EQ(none.value().reason.substr(0, 24), "nothing fits into 1 GB: ");
}

TEST(PlanChooseTest, WrongProductsNameAllNumbers) {
  Request request = request_of(1);
  request.tp = 2;
  request.cp = 3;
  EXPECT_EQ(choose(request).status().message(), "tp 2 x cp 3 = 6 must divide ranks 8");
  request.dp = 2;
  EXPECT_EQ(choose(request).status().message(), "tp 2 x cp 3 x dp 2 = 12 must equal ranks 8");
  request = request_of(1);
  request.strategy = Strategy::double_ring;
  request.cp = 8;
  EXPECT_EQ(choose(request).status().message(), "double-ring: one host: there is no outer ring");
}

TEST(PlanChooseTest, LeastMemoryIsTheLeastOfTheTable) {
  const auto choice = choose(request_of(4));
  ASSERT_TRUE(choice.is_ok());
  const auto& table = choice.value().by_cp;
  for (const Candidate& row : table)
    EXPECT_GE(row.memory.known_bytes, table[choice.value().least_memory].memory.known_bytes);
  EXPECT_GE(table.size(), 3U);
}

TEST(PlanChooseTest, AThousandRanksTakeWellUnderTwoSeconds) {
  const auto started = std::chrono::steady_clock::now();
  ASSERT_TRUE(choose(request_of(128, 1 << 20)).is_ok());
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(2));
}

}  // namespace
}  // namespace ringcomm::planner
