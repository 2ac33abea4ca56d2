// SPDX-License-Identifier: Apache-2.0
// Time and memory of planning itself, up to 10,240 ranks: prints the table, asserts generous bounds.
#include <gtest/gtest.h>
#include <malloc.h>

#include <chrono>

#include "plan_numbers.hpp"
#include "report.hpp"

namespace ringcomm::planner {
namespace {

struct Cost {
  double seconds = 0;
  double bytes = 0;  ///< held by the report and by one sequence's shard map
};

Cost plan_for(int hosts) {
  Options options;
  options.request.shape = llama3_8b();
  options.request.work.tokens = 10'000'019;  // a prime: nothing divides, every shard is looked at
  options.ranks = hosts * 8;
  options.machine = {.hosts = hosts,
                     .gpus = 8,
                     .nics = 8,
                     .gb_per_s = 370.0,
                     .nic_gb_per_s = 50.0,
                     .alpha_us = 5.0,
                     .nic_alpha_us = 10.0,
                     .tflops = 600.0};
  options.request.tp = 1;
  options.request.dp = 1;
  const std::size_t before = mallinfo2().uordblks;
  const auto started = std::chrono::steady_clock::now();
  auto view = view_machine(options);
  EXPECT_TRUE(view.is_ok()) << view.status().to_string();
  const auto report = make_report(std::move(options), std::move(view).value());
  EXPECT_TRUE(report.is_ok()) << report.status().to_string();
  const std::string text = to_text(report.value());
  const auto map = ShardMap::create(Layout::zigzag, 10'000'019, hosts * 8);
  EXPECT_TRUE(map.is_ok());
  return {std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count(),
          static_cast<double>(mallinfo2().uordblks - before)};
}

TEST(PlanScaleTest, TimeAndMemoryGrowLinearlyToTenThousandRanks) {
  std::printf("ranks    seconds   us/rank   bytes/rank\n");
  double first_bytes = 0;
  for (const int hosts : {16, 128, 320, 640, 1280}) {
    const Cost cost = plan_for(hosts);
    const double ranks = hosts * 8.0;
    std::printf("%-8.0f %-9.4f %-9.2f %-9.0f\n", ranks, cost.seconds, 1e6 * cost.seconds / ranks,
                cost.bytes / ranks);
    if (first_bytes == 0) first_bytes = cost.bytes / ranks;
    if (first_bytes > 0) {  // a sanitizer's allocator counts nothing
      EXPECT_LT(cost.bytes / ranks, 4 * first_bytes) << "quadratic growth would be 80 times";
    }
    EXPECT_LT(cost.seconds, hosts <= 128 ? 2.0 : 20.0);
  }
}

}  // namespace
}  // namespace ringcomm::planner
