// SPDX-License-Identifier: Apache-2.0
// The kernels of one instruction level, written once: the including file sets RINGCOMM_MERGE_BYTES, the width
// of its vectors, and is compiled for the level. Multiplication, addition and division are exactly rounded
// and never contracted (-ffp-contract=off), so that all levels give the same bits. Internal linkage on
// purpose.
#pragma once

#include <algorithm>
#include <limits>

#include "collectives/merge_kernels.hpp"
#include "collectives/softmax_math.hpp"

namespace ringcomm::inline v0::collectives {
namespace {

constexpr float kNothingSeen = -std::numeric_limits<float>::infinity();
/// Sums that wait for each other in nothing: eight hide the latency of addition.
constexpr int kVectorsPerTile = 8;

/// `count` <= kWidth floats, kNothingSeen behind them.
[[gnu::always_inline]] inline Vector load_statistics(const float* from, std::int64_t stride,
                                                     std::int64_t count) {
  Vector values;
  if (stride == 1 && count == kWidth) {
    load(values, from);
    return values;
  }
  for (std::int64_t i = 0; i < kWidth; ++i) values[i] = i < count ? from[i * stride] : kNothingSeen;
  return values;
}

[[gnu::always_inline]] inline void store_statistics(float* to, std::int64_t stride, std::int64_t count,
                                                    const Vector& values) {
  if (stride == 1 && count == kWidth) return store<false>(to, values);
  for (std::int64_t i = 0; i < count; ++i) to[i * stride] = values[i];
}

// A maximum that drops NaN, as std::fmax; the exponential in its source's weight brings it back. So an empty
// row is one whose sources are all -inf, which a maximum of -inf does not prove.
template <LogBase kBase, PartialForm kForm>
void merge_statistics_of(const StatisticsJob& job, std::int64_t first, std::int64_t count) {
  constexpr bool kHasPair = kForm == PartialForm::unnormalised;
  const Vector zero{};
  const Vector nothing = zero + kNothingSeen;
  Vector largest = nothing, sum = zero;
  Integers seen{};
  const auto at = [&](const PartialRows& rows) {
    return rows.statistic + (job.first + first) * rows.statistic_stride;
  };
  float* weights = job.weights + first;
  for (const PartialRows& source : job.sources) {
    const Vector values = load_statistics(at(source), source.statistic_stride, count);
    store<false>(weights, values);
    weights += kMergeLanes;
    largest = values > largest ? values : largest;
    seen |= values != nothing;
  }
  weights = job.weights + first;
  for (const PartialRows& source : job.sources) {
    Vector values;
    load(values, weights);
    const Vector weight = values == nothing ? zero : exponential<kBase>(values - largest);
    store<false>(weights, weight);
    weights += kMergeLanes;
    if constexpr (!kHasPair) {
      sum += weight;
    } else {
      const Vector sums = load_statistics(at(source) + source.pair_stride, source.statistic_stride, count);
      sum += weight != zero ? weight * sums : zero;
    }
  }
  const PartialRows& target = *job.target;
  const Vector one = zero + 1.0F;
  if constexpr (kHasPair) {
    // The maximum of NaN and -inf is -inf, which would make an empty row of it in the next merge.
    const Vector nan = zero + std::numeric_limits<float>::quiet_NaN();
    const Vector merged = ((largest == nothing) & (seen != 0)) ? nan : largest;
    store<false>(job.divisors + first, one);
    store_statistics(at(target), target.statistic_stride, count, merged);
    store_statistics(at(target) + target.pair_stride, target.statistic_stride, count, sum);
  } else {
    const Vector merged = seen == 0 ? nothing : largest + logarithm<kBase>(sum);
    const Vector divisor = seen == 0 ? one : sum;
    store<false>(job.divisors + first, divisor);
    store_statistics(at(target), target.statistic_stride, count, merged);
  }
}

template <LogBase kBase, PartialForm kForm>
void merge_statistics_in(const StatisticsJob& job) {
  for (std::int64_t row = 0; row < job.count; row += kWidth)
    merge_statistics_of<kBase, kForm>(job, row, std::min(kWidth, job.count - row));
}

void merge_statistics(const StatisticsJob& job) {
  const bool is_normalised = job.kind.form == PartialForm::normalised;
  if (job.kind.base == LogBase::e) {
    return is_normalised ? merge_statistics_in<LogBase::e, PartialForm::normalised>(job)
                         : merge_statistics_in<LogBase::e, PartialForm::unnormalised>(job);
  }
  return is_normalised ? merge_statistics_in<LogBase::two, PartialForm::normalised>(job)
                       : merge_statistics_in<LogBase::two, PartialForm::unnormalised>(job);
}

template <int kTile, class T>
[[gnu::always_inline]] inline void add_weighted(Vector (&sum)[kTile], float weight, const std::byte* source,
                                                std::int64_t column) {
  const T* const from = reinterpret_cast<const T*>(source) + column;
#pragma GCC unroll 8
  for (int i = 0; i < kTile; ++i) sum[i] += weight * widened(from + i * kWidth);
}

/// kTile vectors from `column` on.
template <int kTile, class T, bool kAroundCaches>
[[gnu::always_inline]] inline void merge_tile(const RowJob& job, std::int64_t column) {
  Vector sum[kTile];
#pragma GCC unroll 8
  for (int i = 0; i < kTile; ++i) sum[i] = Vector{};
  for (std::int64_t k = 0; k < job.count; ++k) {
    if (job.types[k] == DType::float32) {
      add_weighted<kTile, float>(sum, job.weights[k], job.sources[k], column);
    } else if (job.types[k] == DType::bfloat16) {
      add_weighted<kTile, bf16>(sum, job.weights[k], job.sources[k], column);
    } else {
      add_weighted<kTile, fp16>(sum, job.weights[k], job.sources[k], column);
    }
  }
  T* const to = reinterpret_cast<T*>(job.target) + column;
#pragma GCC unroll 8
  for (int i = 0; i < kTile; ++i) store_narrowed<T, kAroundCaches>(to + i * kWidth, sum[i] / job.divisor);
}

float element_of(const std::byte* source, DType type, std::int64_t column) {
  if (type == DType::bfloat16) return to_float(reinterpret_cast<const bf16*>(source)[column]);
  if (type == DType::float16) return to_float(reinterpret_cast<const fp16*>(source)[column]);
  return reinterpret_cast<const float*>(source)[column];
}

template <class T, bool kAroundCaches>
void merge_row_by(const RowJob& job) {
  std::int64_t column = 0;
  for (; column + kVectorsPerTile * kWidth <= job.dim; column += kVectorsPerTile * kWidth)
    merge_tile<kVectorsPerTile, T, kAroundCaches>(job, column);
  for (; column + kWidth <= job.dim; column += kWidth) merge_tile<1, T, kAroundCaches>(job, column);
  for (; column < job.dim; ++column) {
    float sum = 0.0F;
    for (std::int64_t k = 0; k < job.count; ++k)
      sum += job.weights[k] * element_of(job.sources[k], job.types[k], column);
    reinterpret_cast<T*>(job.target)[column] = from_float<T>(sum / job.divisor);
  }
}

template <class T>
void merge_row_of(const RowJob& job) {
  return job.goes_around_caches ? merge_row_by<T, true>(job) : merge_row_by<T, false>(job);
}

void merge_row(const RowJob& job) {
  if (job.target_type == DType::bfloat16) return merge_row_of<bf16>(job);
  return job.target_type == DType::float16 ? merge_row_of<fp16>(job) : merge_row_of<float>(job);
}

}  // namespace
}  // namespace ringcomm::inline v0::collectives
