// SPDX-License-Identifier: Apache-2.0
// The vectors of the AVX2 kernels, as tile_kernel.hpp and tile_pack.hpp need them; FMA and F16C too. Internal
// linkage on purpose: see tile_ops.hpp.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "attention/host/unroll.hpp"

namespace ringcomm::inline v0::attention::host {
namespace {

struct Avx2 {
  using Floats = __m256;
  static constexpr int kLanes = 8;

  static Floats zero() { return _mm256_setzero_ps(); }
  static Floats all(float value) { return _mm256_set1_ps(value); }
  static Floats load(const float* from) { return _mm256_load_ps(from); }
  static void store(float* to, Floats values) { _mm256_store_ps(to, values); }
  static Floats multiply(Floats a, Floats b) { return _mm256_mul_ps(a, b); }
  static Floats add(Floats a, Floats b) { return _mm256_add_ps(a, b); }
  static Floats subtract(Floats a, Floats b) { return _mm256_sub_ps(a, b); }
  /// a * b + c, a * b - c.
  static Floats multiply_add(Floats a, Floats b, Floats c) { return _mm256_fmadd_ps(a, b, c); }
  static Floats multiply_subtract(Floats a, Floats b, Floats c) { return _mm256_fmsub_ps(a, b, c); }
  /// `b` where either is NaN.
  static Floats larger(Floats a, Floats b) { return _mm256_max_ps(a, b); }
  static Floats flip_signs(Floats values, std::uint32_t bits) {
    return _mm256_xor_ps(values, _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(bits))));
  }
  /// 0 where `values` equals `other`.
  static Floats zero_where_equal(Floats values, Floats other) {
    return _mm256_and_ps(_mm256_cmp_ps(values, other, _CMP_NEQ_UQ), values);
  }
  /// `values` in lanes first .. last, `otherwise` in the others.
  static Floats choose(Floats values, int first, int last, Floats otherwise) {
    const __m256i lane = _mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __m256i below = _mm256_cmpgt_epi32(_mm256_set1_epi32(first), lane);
    const __m256i above = _mm256_cmpgt_epi32(lane, _mm256_set1_epi32(last));
    return _mm256_blendv_ps(values, otherwise, _mm256_castsi256_ps(_mm256_or_si256(below, above)));
  }
  static bool has_infinity_or_nan(Floats values) {
    const __m256i exponent = _mm256_set1_epi32(0x7f800000);
    const __m256i bits = _mm256_and_si256(_mm256_castps_si256(values), exponent);
    return _mm256_movemask_epi8(_mm256_cmpeq_epi32(bits, exponent)) != 0;
  }

  static Floats load_float32(const char* from) {
    return _mm256_loadu_ps(reinterpret_cast<const float*>(from));
  }
  static Floats load_bfloat16(const char* from) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  static Floats load_float16(const char* from) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  static void store_float32(char* to, Floats values) {
    _mm256_storeu_ps(reinterpret_cast<float*>(to), values);
  }
  /// Around the caches, to whole vectors; fence() before another core may look.
  static void stream_float32(char* to, Floats values) {
    _mm256_stream_ps(reinterpret_cast<float*>(to), values);
  }
  static void fence() { _mm_sfence(); }
  /// Rounds to the nearest, ties to even; a NaN stays one (quiet), which the addition could carry over.
  static void store_bfloat16(char* to, Floats values) {
    const __m256i bits = _mm256_castps_si256(values);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256 is_nan = _mm256_cmp_ps(values, values, _CMP_UNORD_Q);
    const __m256i chosen = _mm256_castps_si256(
        _mm256_blendv_ps(_mm256_castsi256_ps(rounded), _mm256_castsi256_ps(quiet), is_nan));
    const __m256i high = _mm256_srli_epi32(chosen, 16);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(high, high), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(packed));
  }
  static void store_float16(char* to, Floats values) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                     _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }

  /// 2^x for x <= 1. Below -126.5 the result is 0; NaN stays NaN.
  ///
  /// Relative error at most 2e-7 for x >= -126; the polynomial is that of Avx512::exp2.
  static Floats exp2(Floats x) {
    x = _mm256_max_ps(_mm256_set1_ps(-127.0F), x);  // as second operand a NaN passes through
    const __m256 whole = _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const __m256 part = _mm256_sub_ps(x, whole);
    __m256 sum = _mm256_set1_ps(0x1.5bba14p-10F);
    sum = _mm256_fmadd_ps(sum, part, _mm256_set1_ps(0x1.3cea88p-7F));
    sum = _mm256_fmadd_ps(sum, part, _mm256_set1_ps(0x1.c6b752p-5F));
    sum = _mm256_fmadd_ps(sum, part, _mm256_set1_ps(0x1.ebf9bcp-3F));
    sum = _mm256_fmadd_ps(sum, part, _mm256_set1_ps(0x1.62e42ap-1F));
    sum = _mm256_fmadd_ps(sum, part, _mm256_set1_ps(1.0F));
    // -127 gives the bits of 0.
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(whole), _mm256_set1_epi32(127));
    return _mm256_mul_ps(sum, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
  }

  /// 8 x 8 units of 32 bits in place.
  static void transpose(Floats (&row)[8]) {
    Floats a[8];
    RINGCOMM_UNROLL
    for (int i = 0; i < 8; i += 2) {
      a[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
      a[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
    }
    RINGCOMM_UNROLL
    for (int i = 0; i < 8; i += 4) {  // row[i + c]: columns c and c + 4 of rows i .. i + 3
      row[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
      row[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
      row[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
      row[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
    }
    RINGCOMM_UNROLL
    for (int c = 0; c < 4; ++c) {
      a[c] = _mm256_permute2f128_ps(row[c], row[c + 4], 0x20);
      a[c + 4] = _mm256_permute2f128_ps(row[c], row[c + 4], 0x31);
    }
    RINGCOMM_UNROLL
    for (int i = 0; i < 8; ++i) row[i] = a[i];
  }
};

}  // namespace
}  // namespace ringcomm::inline v0::attention::host
