// SPDX-License-Identifier: Apache-2.0
// The oracle for the 16-bit formats is exhaustive: every bit pattern converts to float and back unchanged.
#include "ringcomm/core/dtype.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ringcomm {
namespace {

TEST(DTypeTest, EveryHalfAndBfloatPatternSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const fp16 half{static_cast<std::uint16_t>(bits)};
    const bf16 brain{static_cast<std::uint16_t>(bits)};
    if (std::isnan(to_float(half))) {
      EXPECT_TRUE(std::isnan(to_float(to_fp16(to_float(half)))));
    } else {
      ASSERT_EQ(to_fp16(to_float(half)).bits, half.bits);
    }
    if (std::isnan(to_float(brain))) {
      EXPECT_TRUE(std::isnan(to_float(to_bf16(to_float(brain)))));
    } else {
      ASSERT_EQ(to_bf16(to_float(brain)).bits, brain.bits);
    }
  }
}

}  // namespace
}  // namespace ringcomm
