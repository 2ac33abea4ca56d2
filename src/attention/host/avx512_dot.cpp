// SPDX-License-Identifier: Apache-2.0
// The bfloat16 kernel on VDPBF16PS. K is read in place, V is interleaved by key pairs.
#include "attention/host/avx512_kernels.hpp"
#include "attention/host/avx512_pack.hpp"
#include "attention/host/avx512_tile.hpp"

namespace ringcomm::inline v0::attention::host {
namespace {

/// A unit is a pair of bfloat16: two dims in Q K^T, two keys in P V.
struct PairDot {
  static constexpr int kValuesPerUnit = 2;
  static __m512 multiply_add(__m512 sum, __m512i a, __m512i b) {
    return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
  }
  static __m512i unit_of(const __m512 (&weight)[2]) {
    alignas(64) static constexpr std::uint16_t kInterleave[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                                  21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                                  11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_permutexvar_epi16(_mm512_load_si512(kInterleave),
                                    (__m512i)_mm512_cvtne2ps_pbh(weight[1], weight[0]));
  }
  static __m512 value_of(__m512i unit, int index) {
    const __m512i bits = index % 2 == 0
                             ? _mm512_slli_epi32(unit, 16)
                             : _mm512_and_si512(unit, _mm512_set1_epi32(static_cast<int>(0xffff0000U)));
    return _mm512_castsi512_ps(bits);
  }
};

struct PairUnits {
  static constexpr int kBytes = 4;
  static constexpr std::uint32_t kSignBits = 0x80008000U;
  static __m512i load(const char* from) { return _mm512_loadu_si512(from); }
};

/// Lanes of bfloat16 that hold inf or NaN.
inline __mmask32 not_finite(__m512i values) {
  const __m512i exponent = _mm512_set1_epi16(0x7f80);
  return _mm512_cmpeq_epi16_mask(_mm512_and_si512(values, exponent), exponent);
}

template <int kDim>
void pack_keys(const HeadRows& k, const HeadRows& v, void* packed, PackedKeys& keys) {
  constexpr std::int64_t kGroupUnits = kTileKeys / 2 * 4;
  auto* to = static_cast<std::uint32_t*>(packed);
  __mmask32 odd_values = 0;
  const int pairs = (v.rows + 3) / 4 * 2;  // whole micro-tiles of four keys
  for (int pair = 0; pair < pairs; ++pair) {
    for (int dim = 0; dim < kDim; dim += 32) {
      const char* from = bytes_at(v.data, 2 * pair * v.stride_bytes + 2 * dim);
      const __m512i zero = _mm512_setzero_si512();
      const __m512i even = 2 * pair < v.rows ? _mm512_loadu_si512(from) : zero;
      const __m512i odd = 2 * pair + 1 < v.rows ? _mm512_loadu_si512(from + v.stride_bytes) : zero;
      odd_values = static_cast<__mmask32>(odd_values | not_finite(even) | not_finite(odd));
      std::uint32_t* group = to + dim / 4 * kGroupUnits + pair * 4;
      store_groups(group, 2 * kGroupUnits, _mm512_unpacklo_epi16(even, odd));
      store_groups(group + kGroupUnits, 2 * kGroupUnits, _mm512_unpackhi_epi16(even, odd));
    }
  }
  keys = {.k = k.data,
          .k_stride_bytes = k.stride_bytes,
          .v = packed,
          .keys = k.rows,
          .v_is_finite = odd_values == 0};
}

template <int kDim>
TileOps ops() {
  return {.q_bytes = kDim / 2 * kTileQueries * 4,
          .kv_bytes = kTileKeys / 2 * kDim * 4,
          .scratch_bytes = kTileKeys * kTileQueries * 4 + kTileKeys / 2 * kTileQueries * 4,
          .pack_queries = pack_query_tile<PairUnits, kDim / 2>,
          .pack_keys = pack_keys<kDim>,
          .accumulate = accumulate_tile<PairDot, kDim>,
          .write_rows = write_tile_rows<Bfloat16Storage, kDim>,
          .write_rows_float32 = write_tile_rows<Float32Storage, kDim>};
}

}  // namespace

TileOps avx512_dot_ops(int head_dim) { return head_dim == 64 ? ops<64>() : ops<128>(); }

}  // namespace ringcomm::inline v0::attention::host
