// SPDX-License-Identifier: Apache-2.0
// The bfloat16 kernel on VDPBF16PS. K is read in place, V is interleaved by key pairs.
#include "attention/host/avx512_vector.hpp"
#include "attention/host/tile_kernel.hpp"
#include "attention/host/vector_kernels.hpp"

namespace ringcomm::inline v0::attention::host {
namespace {

__m512bh pairs(__m512 units) { return (__m512bh)_mm512_castps_si512(units); }

/// A unit is a pair of bfloat16: two dims in Q K^T, two keys in P V.
template <int kTileQueries, int kTileRows>
struct PairDot {
  using V = Avx512;
  static constexpr int kQueries = kTileQueries, kRows = kTileRows, kVectors = kTileQueries / 16;
  static constexpr int kValuesPerUnit = 2;
  static __m512 add_product(__m512 sum, __m512 a, __m512 b) {
    return _mm512_dpbf16_ps(sum, pairs(a), pairs(b));
  }
  /// g++ 12 does not merge the broadcast into this instruction; alone it takes half as long again.
  static __m512 add_broadcast(__m512 sum, __m512 a, const void* b) {
    using Word [[gnu::may_alias, gnu::aligned(2)]] = std::uint32_t;
    asm("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(a), "m"(*static_cast<const Word*>(b)));
    return sum;
  }
  static __m512 unit_of(const __m512 (&weight)[2]) {
    alignas(64) static constexpr std::uint16_t kInterleave[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                                  21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                                  11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    return _mm512_castsi512_ps(_mm512_permutexvar_epi16(_mm512_load_si512(kInterleave),
                                                        (__m512i)_mm512_cvtne2ps_pbh(weight[1], weight[0])));
  }
  static __m512 value_of(__m512 unit, int index) {
    const __m512i bits = _mm512_castps_si512(unit);
    return _mm512_castsi512_ps(
        index % 2 == 0 ? _mm512_slli_epi32(bits, 16)
                       : _mm512_and_si512(bits, _mm512_set1_epi32(static_cast<int>(0xffff0000U))));
  }
};

struct PairUnits {
  static constexpr int kBytes = 4;
  static constexpr int kValues = 2;
  static constexpr std::uint32_t kSignBits = 0x80008000U;
  static __m512 load(const char* from) { return Avx512::load_float32(from); }
};

/// Lanes of bfloat16 that hold inf or NaN.
__mmask32 not_finite(__m512i values) {
  const __m512i exponent = _mm512_set1_epi16(0x7f80);
  return _mm512_cmpeq_epi16_mask(_mm512_and_si512(values, exponent), exponent);
}

/// Key pairs; an odd last key has zeros beside it. True if all are finite.
struct PairedValues {
  static bool pack(const HeadRows& v, int head_dim, void* packed);
};

bool PairedValues::pack(const HeadRows& v, int head_dim, void* packed) {
  alignas(64) static constexpr std::uint16_t kLower[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                           37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                           11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i lower = _mm512_load_si512(kLower);
  const __m512i upper = _mm512_add_epi16(lower, _mm512_set1_epi16(16));
  auto* to = static_cast<std::uint32_t*>(packed);
  __mmask32 odd_values = 0;
  for (int key = 0; key < v.rows; key += 2, to += head_dim) {
    for (int dim = 0; dim < head_dim; dim += 32) {
      const char* from = bytes_at(v.data, key * v.stride_bytes + 2 * dim);
      const __m512i first = _mm512_loadu_si512(from);
      const __m512i second =
          key + 1 < v.rows ? _mm512_loadu_si512(from + v.stride_bytes) : _mm512_setzero_si512();
      odd_values = static_cast<__mmask32>(odd_values | not_finite(first) | not_finite(second));
      _mm512_store_si512(to + dim, _mm512_permutex2var_epi16(first, lower, second));
      _mm512_store_si512(to + dim + 16, _mm512_permutex2var_epi16(first, upper, second));
    }
  }
  return odd_values == 0;
}

void pack_keys(const HeadRows& k, int /*head_dim*/, void* packed, PackedKeys& keys) {
  keys = keys_in_place(k, packed);
}

template <class A>
TileOps dot_ops() {
  return {.queries = A::kQueries,
          .values_per_unit = 2,
          .has_wide_k = false,
          .pack_queries = pack_query_tile<Avx512, PairUnits, A::kQueries>,
          .pack_keys = pack_keys,
          .accumulate = accumulate_tile<A, PairedValues>,
          .write_rows = write_tile_rows<Avx512, Bfloat16Storage<Avx512>, A::kQueries>,
          .write_rows_float32 = write_tile_rows<Avx512, Float32Storage<Avx512>, A::kQueries>,
          .write_rows_streamed = write_tile_rows<Avx512, StreamedFloat32<Avx512>, A::kQueries>};
}

}  // namespace

/// 8 sums hide the latency of the dot product; 16 need more addresses of keys than there are registers.
TileOps avx512_dot_ops(TileWidth width) {
  return width == TileWidth::wide ? dot_ops<PairDot<kWideTileQueries, 4>>()
                                  : dot_ops<PairDot<kNarrowTileQueries, 8>>();
}

}  // namespace ringcomm::inline v0::attention::host
