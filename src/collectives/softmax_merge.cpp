// SPDX-License-Identifier: Apache-2.0
#include "collectives/softmax_merge.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace ringcomm::inline v0::collectives {
namespace {

constexpr float kEmpty = -std::numeric_limits<float>::infinity();
constexpr std::int64_t kTileElements = 256;  // accumulators of 1 KiB stay in the first-level cache

float exponential(LogBase base, float x) { return base == LogBase::e ? std::exp(x) : std::exp2(x); }
float logarithm(LogBase base, float x) { return base == LogBase::e ? std::log(x) : std::log2(x); }

template <class T>
[[gnu::always_inline]] inline void add_weighted(float* sum, float weight, const T* source,
                                                std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += weight * to_float(source[i]);
}

template <class T>
[[gnu::always_inline]] inline void store_divided(T* target, const float* sum, float divisor,
                                                 std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) target[i] = from_float<T>(sum[i] / divisor);
}

template <class T>
void add_portable(float* sum, float weight, const std::byte* source, std::int64_t count) {
  add_weighted(sum, weight, reinterpret_cast<const T*>(source), count);
}
template <class T>
void store_portable(std::byte* target, const float* sum, float divisor, std::int64_t count) {
  store_divided(reinterpret_cast<T*>(target), sum, divisor, count);
}

#if defined(__x86_64__)
// Wider registers only: multiplication, addition and division are exactly rounded and never contracted, so
// the bits equal the portable form's.
template <class T>
[[gnu::target("avx2")]] void add_avx2(float* sum, float weight, const std::byte* source, std::int64_t count) {
  add_weighted(sum, weight, reinterpret_cast<const T*>(source), count);
}
template <class T>
[[gnu::target("avx2")]] void store_avx2(std::byte* target, const float* sum, float divisor,
                                        std::int64_t count) {
  store_divided(reinterpret_cast<T*>(target), sum, divisor, count);
}
bool has_avx2() {
  static const bool found = __builtin_cpu_supports("avx2") != 0;
  return found;
}

// The compiler does not see through to_float(fp16). The hardware's conversion is exact one way and rounds to
// nearest even the other, as ours does; what is left of a row goes through the same instructions.
constexpr std::int64_t kHalvesPerStep = 8;

[[gnu::target("avx2,f16c")]] void add_f16c(float* sum, float weight, const std::byte* source,
                                           std::int64_t count) {
  const __m256 weights = _mm256_set1_ps(weight);
  std::int64_t i = 0;
  for (; i + kHalvesPerStep <= count; i += kHalvesPerStep) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source + 2 * i));
    const __m256 product = _mm256_mul_ps(weights, _mm256_cvtph_ps(halves));
    _mm256_storeu_ps(sum + i, _mm256_add_ps(_mm256_loadu_ps(sum + i), product));
  }
  if (i == count) return;
  const auto left = static_cast<std::size_t>(count - i);
  std::array<std::byte, 2 * kHalvesPerStep> halves{};
  std::array<float, kHalvesPerStep> sums{};
  std::memcpy(halves.data(), source + 2 * i, 2 * left);
  std::memcpy(sums.data(), sum + i, 4 * left);
  add_f16c(sums.data(), weight, halves.data(), kHalvesPerStep);
  std::memcpy(sum + i, sums.data(), 4 * left);
}

[[gnu::target("avx2,f16c")]] void store_f16c(std::byte* target, const float* sum, float divisor,
                                             std::int64_t count) {
  const __m256 divisors = _mm256_set1_ps(divisor);
  std::int64_t i = 0;
  for (; i + kHalvesPerStep <= count; i += kHalvesPerStep) {
    const __m256 quotients = _mm256_div_ps(_mm256_loadu_ps(sum + i), divisors);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + 2 * i),
                     _mm256_cvtps_ph(quotients, _MM_FROUND_TO_NEAREST_INT));
  }
  if (i == count) return;
  const auto left = static_cast<std::size_t>(count - i);
  std::array<std::byte, 2 * kHalvesPerStep> halves{};
  std::array<float, kHalvesPerStep> sums{};
  std::memcpy(sums.data(), sum + i, 4 * left);
  store_f16c(halves.data(), sums.data(), divisor, kHalvesPerStep);
  std::memcpy(target + 2 * i, halves.data(), 2 * left);
}

bool has_f16c() {
  static const bool found = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return has_avx2() && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  }();
  return found;
}
#endif

struct ElementKernels {
  void (*add)(float* sum, float weight, const std::byte* source, std::int64_t count);
  void (*store)(std::byte* target, const float* sum, float divisor, std::int64_t count);
  std::int64_t bytes;
};

template <class T>
ElementKernels kernels_for() {
#if defined(__x86_64__)
  if (has_avx2()) return {add_avx2<T>, store_avx2<T>, sizeof(T)};
#endif
  return {add_portable<T>, store_portable<T>, sizeof(T)};
}

ElementKernels kernels_for(DType dtype) {
  if (dtype == DType::bfloat16) return kernels_for<bf16>();
#if defined(__x86_64__)
  if (dtype == DType::float16 && has_f16c()) return {add_f16c, store_f16c, sizeof(fp16)};
#endif
  if (dtype == DType::float16) return kernels_for<fp16>();
  return kernels_for<float>();
}

// What the statistics of a row say: the divisor of its payload, and whether any source saw a key.
struct RowResult {
  float divisor = 1.0F;
  bool is_empty = false;
};

// std::fmax drops a NaN, and the exponential in its source's weight brings it back; so an empty row is one
// whose sources are all -inf, which a maximum of -inf does not prove.
RowResult merge_statistics(MergeKind kind, const PartialRows& target, std::span<const PartialRows> sources,
                           std::int64_t row, std::span<float> weights) {
  const auto at = [row](const PartialRows& rows) { return rows.statistic + row * rows.statistic_stride; };
  float largest = kEmpty;
  bool is_empty = true;
  for (const PartialRows& source : sources) {
    const float value = *at(source);
    largest = std::fmax(largest, value);
    is_empty = is_empty && value == kEmpty;
  }
  float* const merged = at(target);
  const bool has_pair = kind.form == PartialForm::unnormalised;
  float sum = 0.0F;
  for (std::size_t k = 0; k < sources.size() && !is_empty; ++k) {
    const float value = *at(sources[k]);
    const float weight = value == kEmpty ? 0.0F : exponential(kind.base, value - largest);
    weights[k] = weight;
    if (!has_pair) {
      sum += weight;
    } else if (weight != 0.0F) {
      sum += weight * at(sources[k])[sources[k].pair_stride];
    }
  }
  if (has_pair) {
    // The maximum of NaN and -inf is -inf, which would make an empty row of it in the next merge.
    const bool is_nan = largest == kEmpty && !is_empty;
    merged[0] = is_nan ? std::numeric_limits<float>::quiet_NaN() : largest;
    merged[target.pair_stride] = sum;
    return {1.0F, is_empty};
  }
  merged[0] = is_empty ? kEmpty : largest + logarithm(kind.base, sum);
  return {sum, is_empty};
}

}  // namespace

void merge_rows(MergeKind kind, std::int64_t dim, const PartialRows& target,
                std::span<const PartialRows> sources, std::int64_t first, std::int64_t count,
                std::span<float> weights) {
  const ElementKernels target_kernels = kernels_for(target.dtype);
  for (std::int64_t row = first; row < first + count; ++row) {
    const RowResult result = merge_statistics(kind, target, sources, row, weights);
    for (std::int64_t column = 0; column < dim; column += kTileElements) {
      const std::int64_t width = std::min(kTileElements, dim - column);
      std::array<float, kTileElements> sum{};
      for (std::size_t k = 0; k < sources.size() && !result.is_empty; ++k) {
        if (weights[k] == 0.0F) continue;
        const ElementKernels kernels = kernels_for(sources[k].dtype);
        kernels.add(sum.data(), weights[k],
                    sources[k].out + (row * sources[k].out_stride + column) * kernels.bytes, width);
      }
      target_kernels.store(target.out + (row * target.out_stride + column) * target_kernels.bytes, sum.data(),
                           result.is_empty ? 1.0F : result.divisor, width);
    }
  }
}

PartialRows advanced(const PartialRows& from, std::int64_t rows) {
  PartialRows rest = from;
  rest.out += rows * from.out_stride * static_cast<std::int64_t>(bytes_of(from.dtype));
  if (rest.statistic != nullptr) rest.statistic += rows * from.statistic_stride;
  return rest;
}

void copy_rows(const PartialRows& source, const PartialRows& target, std::int64_t count, std::int64_t dim,
               PartialForm form) {
  const auto size = static_cast<std::int64_t>(bytes_of(source.dtype));
  const bool is_whole = source.out_stride == dim && target.out_stride == dim;
  const std::int64_t runs = is_whole ? 1 : count;
  const auto run_bytes = static_cast<std::size_t>((is_whole ? count : 1) * dim * size);
  for (std::int64_t run = 0; run < runs && run_bytes > 0; ++run) {
    std::memcpy(target.out + run * target.out_stride * size, source.out + run * source.out_stride * size,
                run_bytes);
  }
  for (std::int64_t row = 0; row < count && source.statistic != nullptr; ++row) {
    const float* const from = source.statistic + row * source.statistic_stride;
    float* const to = target.statistic + row * target.statistic_stride;
    to[0] = from[0];
    if (form == PartialForm::unnormalised) to[target.pair_stride] = from[source.pair_stride];
  }
}

}  // namespace ringcomm::inline v0::collectives
