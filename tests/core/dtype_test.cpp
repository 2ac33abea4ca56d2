// SPDX-License-Identifier: Apache-2.0
// The oracle for the 16-bit formats is exhaustive: every bit pattern converts to float and back unchanged,
// and around the midpoint of every two neighbours rounding goes where a comparison in double says.
#include "ringcomm/core/dtype.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <set>

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

/// `low` and `low + 1` are the bits of two neighbours of one sign, `past_largest` what infinity stands for.
template <class T>
void expect_rounding_between(std::uint16_t low, double past_largest) {
  const auto value_of = [&](std::uint16_t bits) {
    const float value = to_float(T{bits});
    return std::isinf(value) ? std::copysign(past_largest, value) : double{value};
  };
  const auto high = static_cast<std::uint16_t>(low + 1);
  const auto middle = static_cast<float>((value_of(low) + value_of(high)) / 2);
  const auto even = (low & 1U) == 0 ? low : high;
  ASSERT_EQ(from_float<T>(middle).bits, even) << "tie above " << low;
  ASSERT_EQ(from_float<T>(std::nextafter(middle, 0.0F)).bits, low) << "below the tie above " << low;
  ASSERT_EQ(from_float<T>(std::nextafter(middle, std::copysign(INFINITY, middle))).bits, high)
      << "above the tie above " << low;
}

TEST(DTypeTest, HalfRoundsToNearestAndTiesToEven) {
  for (std::uint16_t low = 0; low < 0x7c00; ++low) {
    expect_rounding_between<fp16>(low, 65536.0);
    expect_rounding_between<fp16>(static_cast<std::uint16_t>(low | 0x8000U), 65536.0);
  }
}

TEST(DTypeTest, BfloatRoundsToNearestAndTiesToEven) {
  for (std::uint16_t low = 0; low < 0x7f80; ++low) {
    expect_rounding_between<bf16>(low, 0x1p128);
    expect_rounding_between<bf16>(static_cast<std::uint16_t>(low | 0x8000U), 0x1p128);
  }
}

TEST(DTypeTest, KnownPatterns) {
  EXPECT_EQ(to_fp16(1.0F).bits, 0x3c00);
  EXPECT_EQ(to_fp16(-2.0F).bits, 0xc000);
  EXPECT_EQ(to_fp16(65504.0F).bits, 0x7bff);
  EXPECT_EQ(to_fp16(0x1p-14F).bits, 0x0400);  // smallest normal
  EXPECT_EQ(to_fp16(0x1p-24F).bits, 0x0001);  // smallest subnormal
  EXPECT_EQ(to_fp16(0x1p-25F).bits, 0x0000);  // tie to even
  EXPECT_EQ(to_fp16(-0.0F).bits, 0x8000);
  EXPECT_EQ(to_bf16(1.0F).bits, 0x3f80);
  EXPECT_EQ(to_bf16(-0.0F).bits, 0x8000);
  EXPECT_EQ(to_bf16(0x1p-133F).bits, 0x0001);  // smallest subnormal
}

TEST(DTypeTest, OverflowBecomesInfinityOfTheSameSign) {
  EXPECT_EQ(to_fp16(65520.0F).bits, 0x7c00);
  EXPECT_EQ(to_fp16(std::nextafter(65520.0F, 0.0F)).bits, 0x7bff);
  EXPECT_EQ(to_fp16(-1e30F).bits, 0xfc00);
  EXPECT_EQ(to_fp16(INFINITY).bits, 0x7c00);
  EXPECT_EQ(to_bf16(3.4e38F).bits, 0x7f80);
  EXPECT_EQ(to_bf16(-std::numeric_limits<float>::max()).bits, 0xff80);
  EXPECT_EQ(to_bf16(-INFINITY).bits, 0xff80);
}

TEST(DTypeTest, NanStaysAQuietNanWithItsSignWhateverItsPayload) {
  for (const std::uint32_t payload : {1U, 0x1fffU, 0x2000U, 0x8000U, 0x10000U, 0x400000U, 0x7fffffU}) {
    for (const std::uint32_t sign : {0U, 0x80000000U}) {
      const float nan = std::bit_cast<float>(sign | 0x7f800000U | payload);
      const std::uint16_t half = to_fp16(nan).bits;
      const std::uint16_t brain = to_bf16(nan).bits;
      EXPECT_EQ(half & 0x7e00U, 0x7e00U) << payload;
      EXPECT_EQ(brain & 0x7fc0U, 0x7fc0U) << payload;
      EXPECT_EQ(half >> 15, sign >> 31);
      EXPECT_EQ(brain >> 15, sign >> 31);
    }
  }
}

TEST(DTypeTest, NumbersAreThoseOfNccl) {
  const std::array<std::pair<DType, std::size_t>, 12> expected{{{DType::int8, 1},
                                                                {DType::uint8, 1},
                                                                {DType::int32, 4},
                                                                {DType::uint32, 4},
                                                                {DType::int64, 8},
                                                                {DType::uint64, 8},
                                                                {DType::float16, 2},
                                                                {DType::float32, 4},
                                                                {DType::float64, 8},
                                                                {DType::bfloat16, 2},
                                                                {DType::float8_e4m3, 1},
                                                                {DType::float8_e5m2, 1}}};
  for (std::size_t number = 0; number < expected.size(); ++number) {
    EXPECT_EQ(static_cast<std::size_t>(expected[number].first), number);
    EXPECT_EQ(bytes_of(expected[number].first), expected[number].second) << number;
  }
  EXPECT_EQ(bytes_of(static_cast<DType>(12)), 0U);
  EXPECT_EQ(name_of(static_cast<DType>(12)), "unknown");
}

TEST(ParseDTypeTest, ReadsBackEveryNameAndTheShortForms) {
  std::set<std::string_view> names;
  for (int number = 0; number < 12; ++number) {
    const auto type = static_cast<DType>(number);
    EXPECT_TRUE(names.insert(name_of(type)).second);
    EXPECT_EQ(check(parse_dtype(name_of(type))), type);
  }
  EXPECT_EQ(check(parse_dtype("fp32")), DType::float32);
  EXPECT_EQ(check(parse_dtype("float")), DType::float32);
  EXPECT_EQ(check(parse_dtype("fp16")), DType::float16);
  EXPECT_EQ(check(parse_dtype("half")), DType::float16);
  EXPECT_EQ(check(parse_dtype("bf16")), DType::bfloat16);
  EXPECT_EQ(check(parse_dtype("double")), DType::float64);
}

TEST(ParseDTypeTest, NamesTheNearestForOtherText) {
  EXPECT_EQ(parse_dtype("bfloat6").status().message(), "unknown data type 'bfloat6'. Did you mean bfloat16?");
  EXPECT_EQ(parse_dtype("fp61").status().code(), StatusCode::invalid_argument);
  EXPECT_FALSE(parse_dtype("").is_ok());
  EXPECT_FALSE(parse_dtype("FLOAT32").is_ok());
  EXPECT_LT(parse_dtype(std::string(5000, 'x')).status().message().size(), 200U);
}

}  // namespace
}  // namespace ringcomm
