// SPDX-License-Identifier: Apache-2.0
// The oracle is std::exp2 in double: the bound is the one that the function's comment states.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "attention/block_kernel_exp2_probe.hpp"
#include "ringcomm/core/cpu_dispatch.hpp"

namespace ringcomm::inline v0::attention {
namespace {

class Exp2Test : public ::testing::TestWithParam<CpuLevel> {
 protected:
  void SetUp() override {
    if (best_cpu_level() < GetParam()) GTEST_SKIP() << "this CPU lacks " << name_of(GetParam());
  }
  static bool exp2_of_16(const std::array<float, 16>& values, std::array<float, 16>& results) {
    const auto probe = GetParam() == CpuLevel::avx2 ? avx2_exp2_of_16 : avx512_exp2_of_16;
    return probe(values.data(), results.data());
  }
  static float exp2_of(float value) {
    std::array<float, 16> values{}, results{};
    values.fill(value);
    EXPECT_TRUE(exp2_of_16(values, results));
    return results[7];
  }
};

TEST_P(Exp2Test, RelativeErrorIsWithinTwoInTenMillion) {
  double worst = 0;
  std::array<float, 16> values{}, results{};
  for (int step = 0; step < 126 * 4096; step += 16) {
    for (int i = 0; i < 16; ++i)
      values[static_cast<std::size_t>(i)] = 1.0F - static_cast<float>(step + i) / 4096;
    ASSERT_TRUE(exp2_of_16(values, results));
    for (std::size_t i = 0; i < 16; ++i) {
      const double want = std::exp2(double{values[i]});
      worst = std::fmax(worst, std::abs(double{results[i]} - want) / want);
    }
  }
  EXPECT_LE(worst, 2e-7);
}

TEST_P(Exp2Test, SpecialValuesFollowIeee) {
  EXPECT_EQ(exp2_of(0.0F), 1.0F);
  EXPECT_EQ(exp2_of(-150.0F), 0.0F);
  EXPECT_EQ(exp2_of(-1e30F), 0.0F);
  EXPECT_EQ(exp2_of(-INFINITY), 0.0F);
  EXPECT_TRUE(std::isnan(exp2_of(NAN)));
  EXPECT_EQ(exp2_of(-126.0F), 0x1p-126F);
  // AVX2 has no scaling instruction and gives 0 below the normal numbers.
  EXPECT_EQ(exp2_of(-140.0F), GetParam() == CpuLevel::avx2 ? 0.0F : 0x1p-140F);
}

INSTANTIATE_TEST_SUITE_P(All, Exp2Test, ::testing::Values(CpuLevel::avx2, CpuLevel::avx512_bf16),
                         [](const auto& level) { return std::string(name_of(level.param)); });

}  // namespace
}  // namespace ringcomm::inline v0::attention
