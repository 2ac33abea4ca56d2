// SPDX-License-Identifier: Apache-2.0
// No speed is asserted: a rate must be positive and below what any core can do, or 0 where the CPU lacks the
// level.
#include "ringcomm/attention/peak.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "ringcomm/core/cpu_dispatch.hpp"

namespace ringcomm {
namespace {

TEST(ComputePeakTest, RatesArePlausibleOrZero) {
  for (const CpuLevel level : {CpuLevel::scalar, CpuLevel::avx2, CpuLevel::avx512_bf16}) {
    const ComputePeak peak = measure_compute_peak(std::chrono::milliseconds(5), level);
    const CpuLevel used = std::min(level, best_cpu_level());
    EXPECT_EQ(peak.bf16_dot_gflop_per_s > 0, used == CpuLevel::avx512_bf16);
    EXPECT_EQ(peak.fp32_fma_gflop_per_s > 0, used >= CpuLevel::avx2);
    // More than two instructions a cycle at 6 GHz would mean that the loop was optimised away.
    EXPECT_LT(peak.bf16_dot_gflop_per_s, 800);
    EXPECT_LT(peak.fp32_fma_gflop_per_s, 400);
  }
}

}  // namespace
}  // namespace ringcomm
