// SPDX-License-Identifier: Apache-2.0
// Moves tiles between row-major tensors and the lane-major units of avx512_tile.hpp.
#pragma once

#include <immintrin.h>

#include "attention/host/avx512_vector.hpp"
#include "attention/host/tile_ops.hpp"

namespace ringcomm::inline v0::attention::host {
namespace {

/// How elements of each storage type become 16 floats, and back.
struct Float32Storage {
  static constexpr int kBytes = 4;
  static __m512 load(const char* from) { return _mm512_loadu_ps(from); }
  static void store(char* to, __m512 values) { _mm512_storeu_ps(to, values); }
};
struct Bfloat16Storage {
  static constexpr int kBytes = 2;
  static __m512 load(const char* from) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
  }
  static void store(char* to, __m512 values) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), (__m256i)_mm512_cvtneps_pbh(values));
  }
};
struct Float16Storage {
  static constexpr int kBytes = 2;
  static __m512 load(const char* from) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
  }
  static void store(char* to, __m512 values) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
};

/// Queries to [units][kTileQueries]; lanes without a row are zero. `Units::load` gives 16 units of a row.
template <class Units, int kUnits>
void pack_query_tile(const HeadRows& q, bool negate, void* packed) {
  auto* to = static_cast<__m512i*>(packed);
  const __m512i flip =
      negate ? _mm512_set1_epi32(static_cast<int>(Units::kSignBits)) : _mm512_setzero_si512();
  for (int lane = 0; lane < kTileQueries; lane += 16) {
    for (int unit = 0; unit < kUnits; unit += 16) {
      __m512i rows[16];
      for (int i = 0; i < 16; ++i) {
        const char* from = bytes_at(q.data, (lane + i) * q.stride_bytes + unit * Units::kBytes);
        rows[i] = lane + i < q.rows ? _mm512_xor_si512(Units::load(from), flip) : _mm512_setzero_si512();
      }
      transpose(rows);
      for (int i = 0; i < 16; ++i) to[(unit + i) * (kTileQueries / 16) + lane / 16] = rows[i];
    }
  }
}

/// Writes the four 128-bit lanes of `units` to four neighbouring groups of the packed V, `group_units` apart.
inline void store_groups(std::uint32_t* to, std::int64_t group_units, __m512i units) {
  _mm_store_si128(reinterpret_cast<__m128i*>(to), _mm512_castsi512_si128(units));
  _mm_store_si128(reinterpret_cast<__m128i*>(to + group_units), _mm512_extracti32x4_epi32(units, 1));
  _mm_store_si128(reinterpret_cast<__m128i*>(to + 2 * group_units), _mm512_extracti32x4_epi32(units, 2));
  _mm_store_si128(reinterpret_cast<__m128i*>(to + 3 * group_units), _mm512_extracti32x4_epi32(units, 3));
}

template <class Storage, int kDim>
void write_tile_rows(const TileRows& rows) {
  for (int lane = 0; lane < rows.rows; lane += 16) {
    for (int dim = 0; dim < kDim; dim += 16) {
      __m512i tile[16];
      for (int i = 0; i < 16; ++i) tile[i] = _mm512_load_si512(rows.out + (dim + i) * kTileQueries + lane);
      transpose(tile);
      for (int i = 0; i < 16; ++i) {
        const int row = lane + i;
        if (row >= rows.rows) break;
        const __m512 inverse = _mm512_set1_ps(rows.inverse_sum[row]);
        const __mmask16 has_keys = _mm512_cmp_ps_mask(inverse, _mm512_setzero_ps(), _CMP_NEQ_UQ);
        Storage::store(static_cast<char*>(rows.to) + row * rows.stride_bytes + dim * Storage::kBytes,
                       _mm512_maskz_mul_ps(has_keys, _mm512_castsi512_ps(tile[i]), inverse));
      }
    }
  }
}

}  // namespace
}  // namespace ringcomm::inline v0::attention::host
