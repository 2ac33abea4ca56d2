// SPDX-License-Identifier: Apache-2.0
// The vectors of the AVX-512 kernels, as tile_kernel.hpp and tile_pack.hpp need them. Internal linkage on
// purpose: see tile_ops.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "attention/host/unroll.hpp"

namespace ringcomm::inline v0::attention::host {
namespace {

struct Avx512 {
  using Floats = __m512;
  static constexpr int kLanes = 16;

  static Floats zero() { return _mm512_setzero_ps(); }
  static Floats all(float value) { return _mm512_set1_ps(value); }
  static Floats load(const float* from) { return _mm512_load_ps(from); }
  static void store(float* to, Floats values) { _mm512_store_ps(to, values); }
  static Floats multiply(Floats a, Floats b) { return _mm512_mul_ps(a, b); }
  static Floats add(Floats a, Floats b) { return _mm512_add_ps(a, b); }
  static Floats subtract(Floats a, Floats b) { return _mm512_sub_ps(a, b); }
  /// a * b + c, a * b - c.
  static Floats multiply_add(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
  static Floats multiply_subtract(Floats a, Floats b, Floats c) { return _mm512_fmsub_ps(a, b, c); }
  /// `b` where either is NaN.
  static Floats larger(Floats a, Floats b) { return _mm512_max_ps(a, b); }
  static Floats flip_signs(Floats values, std::uint32_t bits) {
    return _mm512_castsi512_ps(
        _mm512_xor_si512(_mm512_castps_si512(values), _mm512_set1_epi32(static_cast<int>(bits))));
  }
  /// 0 where `values` equals `other`.
  static Floats zero_where_equal(Floats values, Floats other) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(values, other, _CMP_NEQ_UQ), values);
  }
  /// `values` in lanes first .. last, `otherwise` in the others.
  static Floats choose(Floats values, int first, int last, Floats otherwise) {
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __mmask16 chosen = _mm512_mask_cmple_epi32_mask(
        _mm512_cmple_epi32_mask(_mm512_set1_epi32(first), lane), lane, _mm512_set1_epi32(last));
    return _mm512_mask_mov_ps(otherwise, chosen, values);
  }
  static bool has_infinity_or_nan(Floats values) {
    constexpr int kInfOrNan = 0x99;  // vfpclassps: quiet NaN, +inf, -inf, signalling NaN
    return _mm512_fpclass_ps_mask(values, kInfOrNan) != 0;
  }

  static Floats load_float32(const char* from) { return _mm512_loadu_ps(from); }
  static Floats load_bfloat16(const char* from) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static Floats load_float16(const char* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static void store_float32(char* to, Floats values) { _mm512_storeu_ps(to, values); }
  /// Around the caches, to whole vectors; fence() before another core may look.
  static void stream_float32(char* to, Floats values) {
    _mm512_stream_ps(reinterpret_cast<float*>(to), values);
  }
  static void fence() { _mm_sfence(); }
  static void store_bfloat16(char* to, Floats values) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh(values));
  }
  static void store_float16(char* to, Floats values) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

  /// 2^x for x <= 1. Below -150 the result is 0; NaN stays NaN.
  ///
  /// Relative error at most 2e-7 for x >= -126: 9.2e-8 from the polynomial (minimax of degree 5 for
  /// 2^f / 1 on |f| <= 1/2 with the constant term fixed at 1, so that 2^0 is exact), the rest from rounding.
  /// -inf: (-inf) - (-inf) is NaN, which vscalefps by -inf makes 0 (Intel SDM, table of VSCALEFPS).
  static Floats exp2(Floats x) {
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

  /// 16 x 16 units of 32 bits in place.
  static void transpose(Floats (&values)[16]) {
    __m512i row[16], a[16];
    RINGCOMM_UNROLL
    for (int i = 0; i < 16; ++i) row[i] = _mm512_castps_si512(values[i]);
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
    for (int i = 0; i < 16; ++i) values[i] = _mm512_castsi512_ps(a[i]);
  }
};

}  // namespace
}  // namespace ringcomm::inline v0::attention::host
