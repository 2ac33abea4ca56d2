// SPDX-License-Identifier: Apache-2.0
// Oracles: integers by wider integers, floats by the same order in plain loops with to_float() and the one
// rounding; all 65,536 halves and a net of floats against core's conversions; NaN by definition.
#include "collectives/reduce_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace ringcomm::collectives {
namespace {

constexpr ReduceOp kOps[] = {ReduceOp::sum, ReduceOp::max, ReduceOp::min};

template <class T>
DType dtype_of();
template <>
DType dtype_of<std::int8_t>() {
  return DType::int8;
}
template <>
DType dtype_of<std::uint8_t>() {
  return DType::uint8;
}
template <>
DType dtype_of<std::int32_t>() {
  return DType::int32;
}
template <>
DType dtype_of<std::uint32_t>() {
  return DType::uint32;
}
template <>
DType dtype_of<std::int64_t>() {
  return DType::int64;
}
template <>
DType dtype_of<std::uint64_t>() {
  return DType::uint64;
}
template <>
DType dtype_of<float>() {
  return DType::float32;
}
template <>
DType dtype_of<double>() {
  return DType::float64;
}
template <>
DType dtype_of<fp16>() {
  return DType::float16;
}
template <>
DType dtype_of<bf16>() {
  return DType::bfloat16;
}

template <class T>
std::vector<T> reduced(ReduceOp op, const std::vector<std::vector<T>>& sources) {
  std::vector<const std::byte*> pointers;
  for (const auto& source : sources) pointers.push_back(reinterpret_cast<const std::byte*>(source.data()));
  std::vector<T> target(sources[0].size());
  reduce_elements(dtype_of<T>(), op, reinterpret_cast<std::byte*>(target.data()), pointers,
                  static_cast<std::int64_t>(target.size()));
  return target;
}

template <class T>
class IntegerTest : public testing::Test {};
using Integers =
    testing::Types<std::int8_t, std::uint8_t, std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(IntegerTest, Integers);

TYPED_TEST(IntegerTest, ReducesAsWiderIntegersDoAndWraps) {
  std::mt19937_64 random(5);
  for (const std::size_t ranks : {1U, 2U, 3U, 8U}) {
    for (const std::size_t count : {0U, 1U, 7U, 1023U, 1024U, 2500U}) {
      std::vector<std::vector<TypeParam>> sources(ranks, std::vector<TypeParam>(count));
      for (auto& source : sources)
        for (TypeParam& value : source) value = static_cast<TypeParam>(random());
      for (const ReduceOp op : kOps) {
        const auto got = reduced(op, sources);
        for (std::size_t i = 0; i < count; ++i) {
          __int128 wanted = sources[0][i];
          for (std::size_t rank = 1; rank < ranks; ++rank) {
            const __int128 next = sources[rank][i];
            if (op == ReduceOp::sum) wanted += next;
            if (op == ReduceOp::max) wanted = std::max(wanted, next);
            if (op == ReduceOp::min) wanted = std::min(wanted, next);
          }
          ASSERT_EQ(got[i], static_cast<TypeParam>(wanted)) << i << " of " << count << " over " << ranks;
        }
      }
    }
  }
}

template <class T>
T rounded(double value) {
  if constexpr (std::is_same_v<T, double>) {
    return value;
  } else {
    return from_float<T>(static_cast<float>(value));
  }
}
double wide(double value) { return value; }
double wide(float value) { return value; }
double wide(fp16 value) { return to_float(value); }
double wide(bf16 value) { return to_float(value); }

template <class T>
class FloatTest : public testing::Test {};
using Floats = testing::Types<float, double, fp16, bf16>;
TYPED_TEST_SUITE(FloatTest, Floats);

/// The same order, with float (double for double) as accumulator and one rounding at the end.
TYPED_TEST(FloatTest, AddsInRankOrderWithOneRounding) {
  using Accumulator = std::conditional_t<std::is_same_v<TypeParam, double>, double, float>;
  std::mt19937 random(9);
  std::normal_distribution<double> normal(0.0, 3.0);
  for (const std::size_t ranks : {1U, 2U, 3U, 5U}) {
    std::vector<std::vector<TypeParam>> sources(ranks, std::vector<TypeParam>(2049));
    for (auto& source : sources)
      for (TypeParam& value : source) value = rounded<TypeParam>(normal(random));
    const auto got = reduced(ReduceOp::sum, sources);
    for (std::size_t i = 0; i < got.size(); ++i) {
      auto sum = static_cast<Accumulator>(wide(sources[0][i]));
      for (std::size_t rank = 1; rank < ranks; ++rank)
        sum += static_cast<Accumulator>(wide(sources[rank][i]));
      ASSERT_EQ(wide(got[i]), wide(rounded<TypeParam>(sum))) << i << " over " << ranks;
    }
  }
}

TYPED_TEST(FloatTest, NanStaysNanInEveryOpAndOrder) {
  const TypeParam nan = rounded<TypeParam>(std::numeric_limits<double>::quiet_NaN());
  const TypeParam one = rounded<TypeParam>(1.0);
  for (const ReduceOp op : kOps) {
    for (const std::size_t where : {0U, 1U, 2U}) {
      std::vector<std::vector<TypeParam>> sources(3, std::vector<TypeParam>(33, one));
      sources[where][17] = nan;
      const auto got = reduced(op, sources);
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_EQ(std::isnan(wide(got[i])), i == 17) << name_of(op) << " from source " << where;
    }
  }
}

TYPED_TEST(FloatTest, InfinitiesTakePart) {
  const TypeParam inf = rounded<TypeParam>(std::numeric_limits<double>::infinity());
  const TypeParam one = rounded<TypeParam>(1.0);
  EXPECT_EQ(wide(reduced<TypeParam>(ReduceOp::max, {{one}, {inf}, {one}})[0]), wide(inf));
  EXPECT_EQ(wide(reduced<TypeParam>(ReduceOp::min, {{inf}, {one}})[0]), 1.0);
  EXPECT_EQ(wide(reduced<TypeParam>(ReduceOp::sum, {{one}, {inf}})[0]), wide(inf));
}

TYPED_TEST(FloatTest, AnyCutAnyAlignmentAndAnyTargetGiveTheSameBits) {
  constexpr std::size_t kCount = 1500;
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  std::vector<std::vector<TypeParam>> sources(3, std::vector<TypeParam>(kCount));
  for (auto& source : sources)
    for (TypeParam& value : source) value = rounded<TypeParam>(normal(random));
  const auto whole = reduced(ReduceOp::sum, sources);
  std::vector<std::byte> odd(kCount * sizeof(TypeParam) + 1);
  for (std::size_t target = 0; target < 3; ++target) {
    auto copies = sources;
    std::memcpy(odd.data() + 1, copies[0].data(), kCount * sizeof(TypeParam));
    for (std::size_t first = 0; first < kCount;) {
      const std::size_t count = std::min<std::size_t>(1 + random() % 400, kCount - first);
      const auto at = [&](std::size_t rank) {
        return reinterpret_cast<std::byte*>(copies[rank].data() + first);
      };
      const std::byte* const pointers[] = {odd.data() + 1 + first * sizeof(TypeParam), at(1), at(2)};
      std::byte* const to = target == 0 ? odd.data() + 1 + first * sizeof(TypeParam) : at(target);
      reduce_elements(dtype_of<TypeParam>(), ReduceOp::sum, to, pointers, static_cast<std::int64_t>(count));
      first += count;
    }
    const void* const result = target == 0 ? static_cast<void*>(odd.data() + 1) : copies[target].data();
    EXPECT_EQ(std::memcmp(result, whole.data(), kCount * sizeof(TypeParam)), 0) << "target " << target;
  }
}

/// max of a value with itself goes through both conversions and must give the value back.
TEST(HalfConversionTest, EveryHalfGoesThereAndBack) {
  std::vector<fp16> all(65536);
  for (std::size_t bits = 0; bits < all.size(); ++bits) all[bits].bits = static_cast<std::uint16_t>(bits);
  const auto got = reduced<fp16>(ReduceOp::max, {all, all});
  for (std::size_t bits = 0; bits < all.size(); ++bits)
    ASSERT_EQ(got[bits].bits, to_fp16(to_float(all[bits])).bits) << bits;
}

/// Sums of two halves round as core's to_fp16 does, also among subnormals and past the largest.
TEST(HalfConversionTest, SumsRoundAsCoreDoes) {
  std::mt19937 random(3);
  std::vector<fp16> a(200'000), b(200'000);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i].bits = static_cast<std::uint16_t>(random());
    b[i].bits = static_cast<std::uint16_t>(i % 3 == 0 ? random() : (a[i].bits ^ (random() & 0x83ffU)));
  }
  const auto got = reduced<fp16>(ReduceOp::sum, {a, b});
  for (std::size_t i = 0; i < a.size(); ++i) {
    const fp16 wanted = to_fp16(to_float(a[i]) + to_float(b[i]));
    if (std::isnan(to_float(wanted))) {
      ASSERT_TRUE(std::isnan(to_float(got[i])));
    } else {
      ASSERT_EQ(got[i].bits, wanted.bits) << a[i].bits << " + " << b[i].bits;
    }
  }
}

TEST(ReducibleTest, OtherOpsAndEightBitFloatsAreRefusedByName) {
  EXPECT_TRUE(check_reducible("x", DType::bfloat16, ReduceOp::min).is_ok());
  const Status op = check_reducible("all_reduce", DType::float32, ReduceOp::softmax_normalised);
  EXPECT_EQ(op.code(), StatusCode::invalid_argument);
  EXPECT_NE(op.message().find("softmax"), std::string::npos) << op.message();
  const Status type = check_reducible("all_reduce", DType::float8_e4m3, ReduceOp::sum);
  EXPECT_EQ(type.code(), StatusCode::not_available);
  EXPECT_NE(type.message().find("float8_e4m3"), std::string::npos) << type.message();
}

}  // namespace
}  // namespace ringcomm::collectives
