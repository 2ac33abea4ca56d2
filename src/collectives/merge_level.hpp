// SPDX-License-Identifier: Apache-2.0
// The kernels of one instruction level, written once: the including file sets RINGCOMM_MERGE_BYTES, the width
// of its vectors, and is compiled for the level. Multiplication, addition and division are exactly rounded
// and never contracted (-ffp-contract=off), so that all levels give the same bits. Internal linkage on
// purpose.
#pragma once

#include <cstring>
#include <limits>

#include "collectives/merge_kernels.hpp"
#include "collectives/softmax_math.hpp"
#include "device/host/vector_stores.hpp"

namespace ringcomm::inline v0::collectives {
namespace {

constexpr float kNothingSeen = -std::numeric_limits<float>::infinity();

using Vector = float __attribute__((vector_size(RINGCOMM_MERGE_BYTES)));
constexpr std::int64_t kWidth = RINGCOMM_MERGE_BYTES / 4;
/// Sums that wait for each other in nothing: eight hide the latency of addition.
constexpr int kVectorsPerTile = 8;

// A maximum that drops NaN, as std::fmax; the exponential in its source's weight brings it back. So an empty
// row is one whose sources are all -inf, which a maximum of -inf does not prove.
template <LogBase kBase, PartialForm kForm, int kLanes>
void merge_statistics_of(const StatisticsJob& job, std::int64_t first) {
  constexpr bool kHasPair = kForm == PartialForm::unnormalised;
  float largest[kLanes], sum[kLanes];
  std::uint32_t seen[kLanes];
  for (int i = 0; i < kLanes; ++i) largest[i] = kNothingSeen, sum[i] = 0.0F, seen[i] = 0;
  const auto at = [&](const PartialRows& rows, int i) {
    return rows.statistic + (job.first + first + i) * rows.statistic_stride;
  };
  for (std::size_t k = 0; k < job.sources.size(); ++k) {
    float* const values = job.weights + static_cast<std::int64_t>(k) * kMergeLanes + first;
    const PartialRows& source = job.sources[k];
    if (source.statistic_stride == 1) {
      std::memcpy(values, at(source, 0), sizeof(float) * kLanes);
    } else {
      for (int i = 0; i < kLanes; ++i) values[i] = *at(source, i);
    }
    for (int i = 0; i < kLanes; ++i) {
      largest[i] = values[i] > largest[i] ? values[i] : largest[i];
      seen[i] |= values[i] == kNothingSeen ? 0U : 1U;
    }
  }
  for (std::size_t k = 0; k < job.sources.size(); ++k) {
    float* const values = job.weights + static_cast<std::int64_t>(k) * kMergeLanes + first;
    for (int i = 0; i < kLanes; ++i) {
      const float weight = exponential<kBase>(values[i] - largest[i]);
      values[i] = values[i] == kNothingSeen ? 0.0F : weight;
    }
    if constexpr (!kHasPair) {
      for (int i = 0; i < kLanes; ++i) sum[i] += values[i];
    } else {
      const PartialRows& source = job.sources[k];
      for (int i = 0; i < kLanes; ++i) {
        if (values[i] != 0.0F) sum[i] += values[i] * at(source, i)[source.pair_stride];
      }
    }
  }
  float merged[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    if constexpr (kHasPair) {
      // The maximum of NaN and -inf is -inf, which would make an empty row of it in the next merge.
      const bool is_nan = largest[i] == kNothingSeen && seen[i] != 0;
      merged[i] = is_nan ? std::numeric_limits<float>::quiet_NaN() : largest[i];
      job.divisors[first + i] = 1.0F;
    } else {
      const float lse = largest[i] + logarithm<kBase>(sum[i]);
      merged[i] = seen[i] == 0 ? kNothingSeen : lse;
      job.divisors[first + i] = seen[i] == 0 ? 1.0F : sum[i];
    }
  }
  const PartialRows& target = *job.target;
  for (int i = 0; i < kLanes; ++i) {
    float* const statistic = at(target, i);
    statistic[0] = merged[i];
    if constexpr (kHasPair) statistic[target.pair_stride] = sum[i];
  }
}

template <LogBase kBase, PartialForm kForm>
void merge_statistics_in(const StatisticsJob& job) {
  if (job.count == kMergeLanes) return merge_statistics_of<kBase, kForm, kMergeLanes>(job, 0);
  for (std::int64_t row = 0; row < job.count; ++row) merge_statistics_of<kBase, kForm, 1>(job, row);
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

[[gnu::always_inline]] inline void load(Vector& into, const float* from) {
  std::memcpy(&into, from, sizeof(Vector));
}

template <bool kAroundCaches>
[[gnu::always_inline]] inline void store(float* to, const Vector& from) {
#if !defined(RINGCOMM_VECTOR_STORES)
  std::memcpy(to, &from, sizeof(Vector));
#else
  if constexpr (!kAroundCaches) {
    std::memcpy(to, &from, sizeof(Vector));
#if RINGCOMM_MERGE_BYTES == 64
  } else {
    _mm512_stream_ps(to, reinterpret_cast<const __m512&>(from));
  }
#elif RINGCOMM_MERGE_BYTES == 32
  } else {
    _mm256_stream_ps(to, reinterpret_cast<const __m256&>(from));
  }
#else
  } else {
    _mm_stream_ps(to, reinterpret_cast<const __m128&>(from));
  }
#endif
#endif
}

/// kTile vectors from `column` on.
template <int kTile, bool kAroundCaches>
[[gnu::always_inline]] inline void merge_tile(const RowJob& job, std::int64_t column) {
  Vector sum[kTile];
#pragma GCC unroll 8
  for (int i = 0; i < kTile; ++i) sum[i] = Vector{};
  for (std::int64_t k = 0; k < job.count; ++k) {
    const float* const source = job.sources[k] + column;
    const float weight = job.weights[k];
#pragma GCC unroll 8
    for (int i = 0; i < kTile; ++i) {
      Vector value;
      load(value, source + i * kWidth);
      sum[i] += weight * value;
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kTile; ++i)
    store<kAroundCaches>(job.target + column + i * kWidth, sum[i] / job.divisor);
}

template <bool kAroundCaches>
[[gnu::always_inline]] inline void merge_row_by(const RowJob& job) {
  std::int64_t column = 0;
  for (; column + kVectorsPerTile * kWidth <= job.dim; column += kVectorsPerTile * kWidth)
    merge_tile<kVectorsPerTile, kAroundCaches>(job, column);
  for (; column + kWidth <= job.dim; column += kWidth) merge_tile<1, kAroundCaches>(job, column);
  for (; column < job.dim; ++column) {
    float sum = 0.0F;
    for (std::int64_t k = 0; k < job.count; ++k) sum += job.weights[k] * job.sources[k][column];
    job.target[column] = sum / job.divisor;
  }
}

void merge_row(const RowJob& job) {
  return job.goes_around_caches ? merge_row_by<true>(job) : merge_row_by<false>(job);
}

}  // namespace
}  // namespace ringcomm::inline v0::collectives
