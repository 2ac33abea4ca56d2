// SPDX-License-Identifier: Apache-2.0
#include "collectives/softmax_merge.hpp"

#include "collectives/merge_kernels.hpp"
#include "device/host/nontemporal_copy.hpp"
#include "ringcomm/core/cpu_dispatch.hpp"
#include "ringcomm/core/env.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace ringcomm::inline v0::collectives {
namespace {

constexpr std::int64_t kTileElements = 256;  // accumulators of 1 KiB stay in the first-level cache
constexpr std::uintptr_t kLineBytes = 64;

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

/// Behind stores around the caches, so that a release store publishes them too.
void order_stores() { _mm_sfence(); }

bool has_f16c() {
  static const bool found = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return has_avx2() && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  }();
  return found;
}
#else
void order_stores() {}
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

bool are_floats(const PartialRows& target, std::span<const PartialRows> sources) {
  return target.dtype == DType::float32 && std::ranges::all_of(sources, [](const PartialRows& source) {
           return source.dtype == DType::float32;
         });
}

/// One row of any types, in tiles whose accumulators stay in the first-level cache.
void merge_mixed_row(const PartialRows& target, std::span<const PartialRows> sources, std::int64_t row,
                     std::int64_t dim, const float* weights, float divisor) {
  const ElementKernels target_kernels = kernels_for(target.dtype);
  for (std::int64_t column = 0; column < dim; column += kTileElements) {
    const std::int64_t width = std::min(kTileElements, dim - column);
    std::array<float, kTileElements> sum{};
    for (std::size_t k = 0; k < sources.size(); ++k) {
      const float weight = weights[static_cast<std::int64_t>(k) * kMergeLanes];
      if (weight == 0.0F) continue;
      const ElementKernels kernels = kernels_for(sources[k].dtype);
      kernels.add(sum.data(), weight, sources[k].out + (row * sources[k].out_stride + column) * kernels.bytes,
                  width);
    }
    target_kernels.store(target.out + (row * target.out_stride + column) * target_kernels.bytes, sum.data(),
                         divisor, width);
  }
}

float* float_row(const PartialRows& rows, std::int64_t row) {
  return reinterpret_cast<float*>(rows.out) + row * rows.out_stride;
}

}  // namespace

std::span<const MergeKernels> merge_kernels() {
#if defined(__x86_64__)
  // A factory is compiled for its level, so that even calling it needs the CPU.
  static const std::vector<MergeKernels> all = [] {
    std::vector<MergeKernels> found;
    if (has_avx2() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
        __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0)
      found.push_back(merge_kernels_avx512());
    if (has_avx2()) found.push_back(merge_kernels_avx2());
    found.push_back(merge_kernels_portable());
    return found;
  }();
#else
  static const std::vector<MergeKernels> all{merge_kernels_portable()};
#endif
  return all;
}

const MergeKernels& merge_kernels_for(CpuLevel level) {
  const auto all = merge_kernels();
  if (level == CpuLevel::scalar) return all.back();
  // The first does not need all that the block kernels' AVX-512 level needs.
  const auto avx2 = std::ranges::find(all, "avx2", &MergeKernels::name);
  return level == CpuLevel::avx2 && avx2 != all.end() ? *avx2 : all.front();
}

const MergeKernels& best_merge_kernels() {
  static const MergeKernels& best = []() -> const MergeKernels& {
    const auto level = chosen_cpu_level();
    const bool is_forced = env_text("RINGCOMM_DISPATCH") && level.is_ok();
    return is_forced ? merge_kernels_for(level.value()) : merge_kernels().front();
  }();
  return best;
}

void merge_rows(MergeKind kind, std::int64_t dim, const PartialRows& target,
                std::span<const PartialRows> sources, std::int64_t first, std::int64_t count,
                MergeScratch& scratch, MergeStores stores, const MergeKernels& kernels) {
  const bool is_float = are_floats(target, sources);
  float divisors[kMergeLanes];
  for (std::int64_t done = 0; done < count; done += kMergeLanes) {
    const StatisticsJob job{.kind = kind,
                            .target = &target,
                            .sources = sources,
                            .first = first + done,
                            .count = std::min(kMergeLanes, count - done),
                            .weights = scratch.weights.data(),
                            .divisors = divisors};
    kernels.merge_statistics(job);
    for (std::int64_t i = 0; i < job.count && dim > 0; ++i) {
      const std::int64_t row = job.first + i;
      const float* const weights = scratch.weights.data() + i;
      if (!is_float) {
        merge_mixed_row(target, sources, row, dim, weights, divisors[i]);
        continue;
      }
      std::size_t live = 0;
      for (std::size_t k = 0; k < sources.size(); ++k) {
        const float weight = weights[static_cast<std::int64_t>(k) * kMergeLanes];
        scratch.live_weights[live] = weight;
        scratch.live_outs[live] = float_row(sources[k], row);
        live += weight != 0.0F ? 1 : 0;  // the payload of a row without weight is not read
      }
      float* const out = float_row(target, row);
      kernels.merge_row({.target = out,
                         .sources = scratch.live_outs.data(),
                         .weights = scratch.live_weights.data(),
                         .count = static_cast<std::int64_t>(live),
                         .dim = dim,
                         .divisor = divisors[i],
                         .goes_around_caches = stores == MergeStores::around_caches &&
                                               reinterpret_cast<std::uintptr_t>(out) % kLineBytes == 0});
    }
  }
  if (stores == MergeStores::around_caches) order_stores();
}

void merge_rows(MergeKind kind, std::int64_t dim, const PartialRows& target,
                std::span<const PartialRows> sources, std::int64_t first, std::int64_t count,
                MergeScratch& scratch, MergeStores stores) {
  merge_rows(kind, dim, target, sources, first, count, scratch, stores, best_merge_kernels());
}

PartialRows advanced(const PartialRows& from, std::int64_t rows) {
  PartialRows rest = from;
  rest.out += rows * from.out_stride * static_cast<std::int64_t>(bytes_of(from.dtype));
  if (rest.statistic != nullptr) rest.statistic += rows * from.statistic_stride;
  return rest;
}

void copy_rows(const PartialRows& source, const PartialRows& target, std::int64_t count, std::int64_t dim,
               PartialForm form, MergeStores stores) {
  const auto size = static_cast<std::int64_t>(bytes_of(source.dtype));
  const bool is_whole = source.out_stride == dim && target.out_stride == dim;
  const std::int64_t runs = is_whole ? 1 : count;
  const auto run_bytes = static_cast<std::size_t>((is_whole ? count : 1) * dim * size);
  const bool is_around = stores == MergeStores::around_caches && run_bytes >= kLineBytes;
  for (std::int64_t run = 0; run < runs && run_bytes > 0; ++run) {
    std::byte* const to = target.out + run * target.out_stride * size;
    const std::byte* const from = source.out + run * source.out_stride * size;
    is_around ? copy_nontemporal(to, from, run_bytes) : static_cast<void>(std::memcpy(to, from, run_bytes));
  }
  for (std::int64_t row = 0; row < count && source.statistic != nullptr; ++row) {
    const float* const from = source.statistic + row * source.statistic_stride;
    float* const to = target.statistic + row * target.statistic_stride;
    to[0] = from[0];
    if (form == PartialForm::unnormalised) to[target.pair_stride] = from[source.pair_stride];
  }
}

}  // namespace ringcomm::inline v0::collectives
