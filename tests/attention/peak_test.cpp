// SPDX-License-Identifier: Apache-2.0
// No speed is asserted: a rate must be positive and below what any core can do, or 0 where the CPU lacks the
// level.
#include "ringcomm/attention/peak.hpp"

#include <gtest/gtest.h>

#include "ringcomm/core/cpu_dispatch.hpp"

namespace ringcomm {
namespace {

TEST(ComputePeakTest, RatesArePlausibleOrZero) {
  const ComputePeak peak = measure_compute_peak(std::chrono::milliseconds(5));
  if (best_cpu_level() < CpuLevel::avx512_bf16) {
    EXPECT_EQ(peak.bf16_dot_gflop_per_s, 0);
    EXPECT_EQ(peak.fp32_fma_gflop_per_s, 0);
    return;
  }
  EXPECT_GT(peak.bf16_dot_gflop_per_s, 0);
  EXPECT_GT(peak.fp32_fma_gflop_per_s, 0);
  // More than two instructions a cycle at 5 GHz would mean that the loop was optimised away.
  EXPECT_LT(peak.bf16_dot_gflop_per_s, 640);
  EXPECT_LT(peak.fp32_fma_gflop_per_s, 320);
}

}  // namespace
}  // namespace ringcomm
