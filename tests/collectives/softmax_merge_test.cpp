// SPDX-License-Identifier: Apache-2.0
// Oracle: the known answers of attention spec 6.2, and the formula in double precision over random rows. Bits
// are compared where the contract promises bits: slices, in place, empty rows.
#include "collectives/softmax_merge.hpp"

#include "collectives/merge_kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace ringcomm {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNaN = std::nanf("");

struct Pair {
  float out;
  float lse;
};

SoftmaxPartial view_of(Pair& pair) {
  return {.out = TensorView::contiguous(&pair.out, DType::float32, {1, 1}),
          .statistic = TensorView::contiguous(&pair.lse, DType::float32, {1})};
}

Pair merge_pair(Pair a, Pair b, LogBase base = LogBase::e) {
  Pair merged{};
  std::array sources{view_of(a), view_of(b)};
  SoftmaxPartial target = view_of(merged);
  sources[0].base = sources[1].base = target.base = base;
  EXPECT_TRUE(merge_softmax_partials(target, sources).is_ok());
  return merged;
}

// Owns one partial of any form and type.
struct Rows {
  std::int64_t rows, dim;
  DType dtype;
  PartialForm form;
  std::vector<std::byte> payload;
  std::vector<float> statistic;

  Rows(std::int64_t row_count, std::int64_t width, DType type, PartialForm partial_form)
      : rows(row_count),
        dim(width),
        dtype(type),
        form(partial_form),
        payload(static_cast<std::size_t>(rows * dim) * bytes_of(type)),
        statistic(static_cast<std::size_t>(rows * collectives::statistics_per_row(form))) {}

  SoftmaxPartial view() {
    return {.form = form,
            .out = TensorView::contiguous(payload.data(), dtype, {rows, dim}),
            .statistic = form == PartialForm::normalised
                             ? TensorView::contiguous(statistic.data(), DType::float32, {rows})
                             : TensorView::contiguous(statistic.data(), DType::float32, {rows, 2})};
  }
  float get(std::int64_t index) const {
    const auto at = static_cast<std::size_t>(index);
    if (dtype == DType::bfloat16) return to_float(reinterpret_cast<const bf16*>(payload.data())[at]);
    if (dtype == DType::float16) return to_float(reinterpret_cast<const fp16*>(payload.data())[at]);
    return reinterpret_cast<const float*>(payload.data())[at];
  }
  void set(std::int64_t index, float value) {
    const auto at = static_cast<std::size_t>(index);
    if (dtype == DType::bfloat16) {
      reinterpret_cast<bf16*>(payload.data())[at] = to_bf16(value);
    } else if (dtype == DType::float16) {
      reinterpret_cast<fp16*>(payload.data())[at] = to_fp16(value);
    } else {
      reinterpret_cast<float*>(payload.data())[at] = value;
    }
  }
};

Rows random_rows(std::int64_t rows, std::int64_t dim, DType dtype, PartialForm form, std::uint32_t seed) {
  Rows made(rows, dim, dtype, form);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t row = 0; row < rows; ++row) {
    const bool is_empty = random() % 5 == 0;
    const auto at = static_cast<std::size_t>(row);
    if (form == PartialForm::normalised) {
      made.statistic[at] = is_empty ? -kInf : 4.0F * normal(random);
    } else {
      made.statistic[2 * at] = is_empty ? -kInf : 4.0F * normal(random);
      made.statistic[2 * at + 1] = is_empty ? 0.0F : 1.0F + std::fabs(normal(random));
    }
    for (std::int64_t d = 0; d < dim; ++d) made.set(row * dim + d, is_empty ? kNaN : normal(random));
  }
  return made;
}

TEST(SoftmaxMergeTest, KnownAnswersOfTheSpec) {
  const Pair third = merge_pair({1, 0}, {3, std::log(3.0F)});
  EXPECT_FLOAT_EQ(third.out, 2.5F);
  EXPECT_FLOAT_EQ(third.lse, std::log(4.0F));
  const Pair one_empty = merge_pair({1, -kInf}, {3, 2});
  EXPECT_EQ(one_empty.out, 3.0F);
  EXPECT_EQ(one_empty.lse, 2.0F);
  const Pair unread = merge_pair({kNaN, -kInf}, {3, 2});
  EXPECT_EQ(unread.out, 3.0F);
  EXPECT_EQ(unread.lse, 2.0F);
  const Pair both_empty = merge_pair({5, -kInf}, {7, -kInf});
  EXPECT_EQ(both_empty.out, 0.0F);
  EXPECT_EQ(both_empty.lse, -kInf);
  const Pair dominated = merge_pair({1, 0}, {2, 100});
  EXPECT_FLOAT_EQ(dominated.out, 2.0F);
  EXPECT_FLOAT_EQ(dominated.lse, 100.0F);
  const Pair huge = merge_pair({1, 1000}, {3, 1000});
  EXPECT_FLOAT_EQ(huge.out, 2.0F);
  EXPECT_FLOAT_EQ(huge.lse, 1000.6931F);
}

TEST(SoftmaxMergeTest, BaseTwoUsesPowersOfTwo) {
  const Pair merged = merge_pair({1, 0}, {3, 1}, LogBase::two);  // weights 1/2 and 1
  EXPECT_FLOAT_EQ(merged.out, 7.0F / 3.0F);
  EXPECT_FLOAT_EQ(merged.lse, std::log2(3.0F));
}

TEST(SoftmaxMergeTest, NaNStatisticComesOutAsNaNAndNeverAsEmpty) {
  for (const auto& [a, b] :
       {std::pair{kNaN, 0.0F}, {kNaN, -kInf}, {-kInf, kNaN}, {kNaN, kNaN}, {0.0F, kNaN}}) {
    const Pair merged = merge_pair({1, a}, {2, b});
    EXPECT_TRUE(std::isnan(merged.out)) << a << " " << b;
    EXPECT_TRUE(std::isnan(merged.lse)) << a << " " << b;
  }
}

TEST(SoftmaxMergeTest, PlusInfinityIsAnErrorOfTheCallerThatStaysVisible) {
  EXPECT_TRUE(std::isnan(merge_pair({1, kInf}, {2, 0}).lse));
}

TEST(SoftmaxMergeTest, UnderflownWeightDoesNotReadItsPayload) {
  const Pair merged = merge_pair({kNaN, -1e6F}, {3, 2});
  EXPECT_EQ(merged.out, 3.0F);
  EXPECT_TRUE(std::isnan(merge_pair({kNaN, 1.5F}, {3, 2}).out)) << "a NaN payload with weight stays NaN";
}

// The published forms that go wrong, each on the input that breaks it: were one of them used, the tests above
// would fail.
TEST(SoftmaxMergeTest, FailingFormsOfTheFieldFailWhereOursDoesNot) {
  const auto sigmoid = [](float x) { return 1.0F / (1.0F + std::exp(-x)); };
  const float l1 = -kInf;
  const float l2 = -kInf;
  EXPECT_TRUE(std::isnan(1.0F + sigmoid(l2 - l1) * (2.0F - 1.0F)));
  const float log_sigmoid = -std::log1p(std::exp(-(l1 - 2.0F)));
  EXPECT_FALSE(std::isfinite(l1 - log_sigmoid));
  EXPECT_EQ(merge_pair({1, l1}, {2, 2.0F}).lse, 2.0F);
  EXPECT_TRUE(std::isnan(std::fmax(l1, l2) + std::log1p(std::exp(std::fmin(l1, l2) - std::fmax(l1, l2)))));
  EXPECT_EQ(merge_pair({1, l1}, {2, l2}).lse, -kInf);
  EXPECT_EQ(0.0F + std::log1p(std::exp(90.0F - 0.0F)), kInf);
  EXPECT_FLOAT_EQ(merge_pair({1, 0.0F}, {2, 90.0F}).lse, 90.0F);
}

struct Case {
  DType dtype;
  PartialForm form;
};

class SoftmaxMergeCase : public testing::TestWithParam<Case> {};

double oracle_weight(LogBase base, double statistic, double largest) {
  if (statistic == -INFINITY) return 0.0;
  return base == LogBase::e ? std::exp(statistic - largest) : std::exp2(statistic - largest);
}

TEST_P(SoftmaxMergeCase, AgreesWithDoublePrecision) {
  const auto [dtype, form] = GetParam();
  const double tolerance = dtype == DType::float32 ? 4e-6 : dtype == DType::float16 ? 1.2e-3 : 1e-2;
  const std::int64_t per_row = collectives::statistics_per_row(form);
  for (const LogBase base : {LogBase::e, LogBase::two}) {
    for (const auto& [rows, dim, ways] :
         {std::array{1, 1, 2}, {7, 3, 1}, {9, 64, 3}, {5, 300, 8}, {0, 8, 2}}) {
      std::vector<Rows> parts;
      std::vector<SoftmaxPartial> sources;
      parts.reserve(static_cast<std::size_t>(ways));
      for (int k = 0; k < ways; ++k) {
        parts.push_back(random_rows(rows, dim, dtype, form, static_cast<std::uint32_t>(100 * rows + k)));
        sources.push_back(parts.back().view());
        sources.back().base = base;
      }
      Rows merged(rows, dim, dtype, form);
      SoftmaxPartial target = merged.view();
      target.base = base;
      ASSERT_TRUE(merge_softmax_partials(target, sources).is_ok());
      for (std::int64_t row = 0; row < rows; ++row) {
        const auto stat = [&](const Rows& r, int i) {
          return static_cast<double>(r.statistic[static_cast<std::size_t>(row * per_row + i)]);
        };
        double largest = -INFINITY;
        for (const Rows& part : parts) largest = std::max(largest, stat(part, 0));
        double sum = 0;
        for (const Rows& part : parts) {
          const double weight = oracle_weight(base, stat(part, 0), largest);
          sum += weight == 0 ? 0 : weight * (form == PartialForm::normalised ? 1.0 : stat(part, 1));
        }
        if (form == PartialForm::unnormalised) {
          EXPECT_EQ(stat(merged, 0), largest);
          EXPECT_NEAR(stat(merged, 1), sum, 1e-5 * (1 + sum));
        } else if (sum == 0) {
          EXPECT_EQ(stat(merged, 0), -INFINITY);
        } else {
          EXPECT_NEAR(stat(merged, 0), largest + (base == LogBase::e ? std::log(sum) : std::log2(sum)), 1e-5);
        }
        for (std::int64_t d = 0; d < dim; ++d) {
          double expected = 0;
          for (const Rows& part : parts) {
            const double weight = oracle_weight(base, stat(part, 0), largest);
            if (weight != 0) expected += weight * static_cast<double>(part.get(row * dim + d));
          }
          if (form == PartialForm::normalised && sum != 0) expected /= sum;
          EXPECT_NEAR(static_cast<double>(merged.get(row * dim + d)), expected,
                      tolerance * (1 + std::fabs(expected)));
        }
      }
    }
  }
}

TEST_P(SoftmaxMergeCase, SlicesGiveTheBitsOfTheWhole) {
  const auto [dtype, form] = GetParam();
  constexpr std::int64_t kRows = 13;
  constexpr std::int64_t kDim = 37;
  std::vector<collectives::PartialRows> sources;
  std::vector<Rows> parts;
  parts.reserve(3);
  for (std::uint32_t k = 0; k < 3; ++k) {
    parts.push_back(random_rows(kRows, kDim, dtype, form, k));
    sources.push_back(collectives::rows_of(parts.back().view()));
  }
  collectives::MergeScratch scratch(3);
  Rows whole(kRows, kDim, dtype, form);
  collectives::merge_rows({form, LogBase::e}, kDim, collectives::rows_of(whole.view()), sources, 0, kRows,
                          scratch);
  for (const std::int64_t slices : {2, 3, 5, 13, 20}) {
    Rows cut(kRows, kDim, dtype, form);
    for (std::int64_t s = 0; s < slices; ++s) {
      const std::int64_t first = s * kRows / slices;
      collectives::merge_rows({form, LogBase::e}, kDim, collectives::rows_of(cut.view()), sources, first,
                              (s + 1) * kRows / slices - first, scratch);
    }
    EXPECT_EQ(std::memcmp(cut.payload.data(), whole.payload.data(), whole.payload.size()), 0);
    EXPECT_EQ(std::memcmp(cut.statistic.data(), whole.statistic.data(), whole.statistic.size() * 4), 0);
  }
}

TEST_P(SoftmaxMergeCase, TargetMayBeAnyOfTheSources) {
  const auto [dtype, form] = GetParam();
  for (std::size_t place = 0; place < 3; ++place) {
    std::vector<Rows> parts;
    for (std::uint32_t k = 0; k < 3; ++k) parts.push_back(random_rows(5, 300, dtype, form, k));
    std::vector<SoftmaxPartial> sources;
    for (Rows& part : parts) sources.push_back(part.view());
    Rows apart(5, 300, dtype, form);
    ASSERT_TRUE(merge_softmax_partials(apart.view(), sources).is_ok());
    ASSERT_TRUE(merge_softmax_partials(sources[place], sources).is_ok());
    EXPECT_EQ(std::memcmp(parts[place].payload.data(), apart.payload.data(), apart.payload.size()), 0);
    EXPECT_EQ(parts[place].statistic, apart.statistic);
  }
}

TEST_P(SoftmaxMergeCase, EveryInstructionLevelGivesTheSameBits) {
  const DType dtype = GetParam().dtype;
  const PartialForm form = GetParam().form;
  const auto all = collectives::merge_kernels();
  ASSERT_EQ(all.back().name, "portable");
  for (const LogBase base : {LogBase::e, LogBase::two}) {
    for (const auto& shape :
         {std::array{1, 1, 2}, {40, 128, 2}, {17, 300, 3}, {33, 129, 5}, {16, 16, 1}, {5, 0, 2}}) {
      const std::int64_t rows = shape[0];
      const std::int64_t dim = shape[1];
      const int ways = shape[2];
      std::vector<Rows> parts;
      std::vector<collectives::PartialRows> sources;
      parts.reserve(static_cast<std::size_t>(ways));
      for (int k = 0; k < ways; ++k) {
        const DType type = k == 2 ? DType::bfloat16 : k == 3 ? DType::float16 : dtype;  // types may differ
        parts.push_back(random_rows(rows, dim, type, form, static_cast<std::uint32_t>(7 * rows + k)));
        parts.back().statistic[0] = k == 0 ? kNaN : parts.back().statistic[0];
        sources.push_back(collectives::rows_of(parts.back().view()));
      }
      collectives::MergeScratch scratch(sources.size());
      const auto merged_by = [&](const collectives::MergeKernels& kernels, MergeStores stores) {
        Rows merged(rows, dim, dtype, form);
        collectives::merge_rows({form, base}, dim, collectives::rows_of(merged.view()), sources, 0, rows,
                                scratch, stores, kernels);
        return merged;
      };
      const Rows expected = merged_by(all.back(), MergeStores::cached);
      EXPECT_TRUE(std::isnan(expected.statistic[form == PartialForm::normalised ? 0 : 1]));
      for (const collectives::MergeKernels& kernels : all) {
        for (const auto stores : {MergeStores::cached, MergeStores::around_caches}) {
          const Rows merged = merged_by(kernels, stores);
          EXPECT_EQ(std::memcmp(merged.statistic.data(), expected.statistic.data(),
                                merged.statistic.size() * sizeof(float)),
                    0)
              << kernels.name << " rows " << rows << " dim " << dim;
          EXPECT_TRUE(merged.payload == expected.payload)
              << kernels.name << " rows " << rows << " dim " << dim;
        }
      }
    }
  }
}

TEST(SoftmaxMergeTest, AForcedLevelIsNotExceeded) {
  EXPECT_EQ(collectives::merge_kernels_for(CpuLevel::scalar).name, "portable");
  EXPECT_NE(collectives::merge_kernels_for(CpuLevel::avx2).name, "avx512");
  EXPECT_EQ(collectives::merge_kernels_for(CpuLevel::avx512_bf16).name, collectives::merge_kernels()[0].name);
}

// The portable level alone could be wrong with the others: its exponential and logarithm against double.
TEST(SoftmaxMergeTest, WeightsAndSumsAreRightToTwoUnits) {
  const auto weight_of = [](float x, LogBase base) {  // of a payload 1 beside a payload 0 whose weight is 1
    const Pair merged = merge_pair({1, x}, {0, 0}, base);
    return std::pair{static_cast<double>(merged.out), static_cast<double>(merged.lse)};
  };
  for (float x = -87; x <= 0; x += 0.37F) {
    for (const LogBase base : {LogBase::e, LogBase::two}) {
      const double weight =
          base == LogBase::e ? std::exp(static_cast<double>(x)) : std::exp2(static_cast<double>(x));
      const auto [out, lse] = weight_of(x, base);
      EXPECT_NEAR(out, weight / (1 + weight), 4e-7 * weight / (1 + weight)) << x;
      const double expected = base == LogBase::e ? std::log1p(weight) : std::log2(1 + weight);
      EXPECT_NEAR(lse, expected, 1.5e-7) << x;
    }
  }
  EXPECT_GT(weight_of(-100, LogBase::e).first, 0) << "weights are subnormal before they are 0";
  EXPECT_EQ(weight_of(-110, LogBase::e).first, 0);
}

INSTANTIATE_TEST_SUITE_P(, SoftmaxMergeCase,
                         testing::Values(Case{DType::float32, PartialForm::normalised},
                                         Case{DType::bfloat16, PartialForm::normalised},
                                         Case{DType::float16, PartialForm::normalised},
                                         Case{DType::float32, PartialForm::unnormalised},
                                         Case{DType::bfloat16, PartialForm::unnormalised},
                                         Case{DType::float16, PartialForm::unnormalised}),
                         [](const auto& tested) {
                           return std::string(name_of(tested.param.dtype)) +
                                  (tested.param.form == PartialForm::normalised ? "_normalised"
                                                                                : "_unnormalised");
                         });

}  // namespace
}  // namespace ringcomm
