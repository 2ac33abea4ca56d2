// SPDX-License-Identifier: Apache-2.0
// Vectors of one instruction level, as wide as RINGCOMM_MERGE_BYTES says, and elements of any payload type
// read and written as vectors of float. Internal linkage on purpose.
#pragma once

#if RINGCOMM_MERGE_BYTES >= 32
#include <immintrin.h>
#endif

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "device/host/vector_stores.hpp"
#include "ringcomm/core/dtype.hpp"

namespace ringcomm::inline v0::collectives {
namespace {

using Vector = float __attribute__((vector_size(RINGCOMM_MERGE_BYTES)));
using Words = std::uint32_t __attribute__((vector_size(RINGCOMM_MERGE_BYTES)));
using Integers = std::int32_t __attribute__((vector_size(RINGCOMM_MERGE_BYTES)));
using Halves = std::uint16_t __attribute__((vector_size(RINGCOMM_MERGE_BYTES / 2)));
constexpr std::int64_t kWidth = RINGCOMM_MERGE_BYTES / 4;

template <class V>
[[gnu::always_inline]] inline void load(V& into, const void* from) {
  std::memcpy(&into, from, sizeof(V));
}

template <bool kAroundCaches, class V>
[[gnu::always_inline]] inline void store(void* to, const V& from) {
#if defined(RINGCOMM_VECTOR_STORES)
  if constexpr (kAroundCaches) {
#if RINGCOMM_MERGE_BYTES == 64
    if constexpr (sizeof(V) == 64)
      return _mm512_stream_si512(static_cast<__m512i*>(to), std::bit_cast<__m512i>(from));
#endif
#if RINGCOMM_MERGE_BYTES >= 32
    if constexpr (sizeof(V) == 32)
      return _mm256_stream_si256(static_cast<__m256i*>(to), std::bit_cast<__m256i>(from));
#endif
    if constexpr (sizeof(V) == 16)
      return _mm_stream_si128(static_cast<__m128i*>(to), std::bit_cast<__m128i>(from));
    if constexpr (sizeof(V) == 8)
      return _mm_stream_si64(static_cast<long long*>(to), std::bit_cast<long long>(from));
  }
#endif
  std::memcpy(to, &from, sizeof(V));
}

// The compiler takes these conversions apart into quarters: they are written out where there are
// instructions.
[[gnu::always_inline]] inline Words words_of(const Halves& halves) {
#if RINGCOMM_MERGE_BYTES == 64
  return std::bit_cast<Words>(_mm512_cvtepu16_epi32(std::bit_cast<__m256i>(halves)));
#elif RINGCOMM_MERGE_BYTES == 32
  return std::bit_cast<Words>(_mm256_cvtepu16_epi32(std::bit_cast<__m128i>(halves)));
#else
  return __builtin_convertvector(halves, Words);
#endif
}

/// Words below 2^16.
[[gnu::always_inline]] inline Halves halves_of(const Words& words) {
#if RINGCOMM_MERGE_BYTES == 64
  return std::bit_cast<Halves>(_mm512_cvtepi32_epi16(std::bit_cast<__m512i>(words)));
#elif RINGCOMM_MERGE_BYTES == 32
  const auto both = std::bit_cast<__m256i>(words);
  const __m128i low = _mm256_castsi256_si128(both);
  return std::bit_cast<Halves>(_mm_packus_epi32(low, _mm256_extracti128_si256(both, 1)));
#else
  return __builtin_convertvector(words, Halves);
#endif
}

/// kWidth elements as float; exact.
template <class T>
[[gnu::always_inline]] inline Vector widened(const T* from) {
  Vector value;
  if constexpr (sizeof(T) == 4) {
    load(value, from);
    return value;
  }
  Halves halves;
  load(halves, from);
  if constexpr (std::is_same_v<T, bf16>) return std::bit_cast<Vector>(words_of(halves) << 16);
#if RINGCOMM_MERGE_BYTES == 64
  return std::bit_cast<Vector>(_mm512_cvtph_ps(std::bit_cast<__m256i>(halves)));
#elif RINGCOMM_MERGE_BYTES == 32
  return std::bit_cast<Vector>(_mm256_cvtph_ps(std::bit_cast<__m128i>(halves)));
#else
  for (std::int64_t i = 0; i < kWidth; ++i) value[i] = to_float(from[i]);
  return value;
#endif
}

/// kWidth floats, each rounded once: to nearest, ties to even; NaN stays NaN.
template <class T, bool kAroundCaches>
[[gnu::always_inline]] inline void store_narrowed(T* to, const Vector& from) {
  if constexpr (sizeof(T) == 4) {
    store<kAroundCaches>(to, from);
  } else if constexpr (std::is_same_v<T, bf16>) {
    const auto bits = std::bit_cast<Words>(from);
    const Words rounded = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    const Words quiet = (bits >> 16) | 0x40U;
    const Words kept = (bits & 0x7fffffffU) > 0x7f800000U ? quiet : rounded;
    store<kAroundCaches>(to, halves_of(kept));
  } else {
#if RINGCOMM_MERGE_BYTES == 64
    store<kAroundCaches>(to, _mm512_cvtps_ph(std::bit_cast<__m512>(from), _MM_FROUND_TO_NEAREST_INT));
#elif RINGCOMM_MERGE_BYTES == 32
    store<kAroundCaches>(to, _mm256_cvtps_ph(std::bit_cast<__m256>(from), _MM_FROUND_TO_NEAREST_INT));
#else
    for (std::int64_t i = 0; i < kWidth; ++i) to[i] = to_fp16(from[i]);
#endif
  }
}

}  // namespace
}  // namespace ringcomm::inline v0::collectives
