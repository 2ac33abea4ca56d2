// SPDX-License-Identifier: Apache-2.0
// Vector pieces of the AVX-512 kernels. Internal linkage on purpose: see tile_ops.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#if defined(__clang__)
#define RINGCOMM_UNROLL _Pragma("unroll")
#else
#define RINGCOMM_UNROLL _Pragma("GCC unroll 16")
#endif

namespace ringcomm::inline v0::attention::host {
namespace {

/// 2^x for x <= 1. Below -150 the result is 0; NaN stays NaN.
///
/// Relative error at most 2e-7 for x >= -126: 9.2e-8 from the polynomial (minimax of degree 5 for
/// 2^f / 1 on |f| <= 1/2 with the constant term fixed at 1, so that 2^0 is exact), the rest from rounding.
inline __m512 exp2_of(__m512 x) {
  // Without the clamp -inf would become (-inf) - (-inf) = NaN, out of which only a special rule of vscalefps
  // makes 0 again. As second operand a NaN passes through vmaxps.
  x = _mm512_max_ps(_mm512_set1_ps(-200.0F), x);
  const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 part = _mm512_sub_ps(x, whole);
  __m512 sum = _mm512_set1_ps(0x1.5bba14p-10F);
  sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(0x1.3cea88p-7F));
  sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(0x1.c6b752p-5F));
  sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(0x1.ebf9bcp-3F));
  sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(0x1.62e42ap-1F));
  sum = _mm512_fmadd_ps(sum, part, _mm512_set1_ps(1.0F));
  return _mm512_scalef_ps(sum, whole);
}

/// Transposes 16 x 16 units of 32 bits in place.
inline void transpose(__m512i (&row)[16]) {
  __m512i a[16];
  RINGCOMM_UNROLL
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_epi32(row[i], row[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(row[i], row[i + 1]);
  }
  RINGCOMM_UNROLL
  for (int i = 0; i < 16; i += 4) {  // row[i + c]: column 4 * lane + c of rows i .. i + 3
    row[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
    row[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
    row[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
    row[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
  RINGCOMM_UNROLL
  for (int c = 0; c < 4; ++c) {
    const __m512i even_low = _mm512_shuffle_i32x4(row[c], row[c + 4], 0x88);
    const __m512i odd_low = _mm512_shuffle_i32x4(row[c], row[c + 4], 0xdd);
    const __m512i even_high = _mm512_shuffle_i32x4(row[c + 8], row[c + 12], 0x88);
    const __m512i odd_high = _mm512_shuffle_i32x4(row[c + 8], row[c + 12], 0xdd);
    a[c] = _mm512_shuffle_i32x4(even_low, even_high, 0x88);
    a[c + 8] = _mm512_shuffle_i32x4(even_low, even_high, 0xdd);
    a[c + 4] = _mm512_shuffle_i32x4(odd_low, odd_high, 0x88);
    a[c + 12] = _mm512_shuffle_i32x4(odd_low, odd_high, 0xdd);
  }
  RINGCOMM_UNROLL
  for (int i = 0; i < 16; ++i) row[i] = a[i];
}

inline std::uint32_t load_unit(const void* from) {
  std::uint32_t unit;
  __builtin_memcpy(&unit, from, sizeof unit);
  return unit;
}

inline const char* bytes_at(const void* from, std::int64_t offset) {
  return static_cast<const char*>(from) + offset;
}

}  // namespace
}  // namespace ringcomm::inline v0::attention::host
