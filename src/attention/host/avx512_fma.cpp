// SPDX-License-Identifier: Apache-2.0
// The fp32 kernel, also for 16-bit storage where VDPBF16PS is missing (float16) or slow (see
// kernel_factories.hpp).
#include "attention/host/avx512_kernels.hpp"
#include "attention/host/avx512_pack.hpp"
#include "attention/host/avx512_tile.hpp"

namespace ringcomm::inline v0::attention::host {
namespace {

/// A unit is one float.
struct FusedMultiplyAdd {
  static constexpr int kValuesPerUnit = 1;
  static __m512 multiply_add(__m512 sum, __m512i a, __m512i b) {
    return _mm512_fmadd_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), sum);
  }
  static __m512i unit_of(const __m512 (&weight)[1]) { return _mm512_castps_si512(weight[0]); }
  static __m512 value_of(__m512i unit, int) { return _mm512_castsi512_ps(unit); }
};

template <class Storage>
struct WidenedUnits {
  static constexpr int kBytes = Storage::kBytes;
  static constexpr std::uint32_t kSignBits = 0x80000000U;
  static __m512i load(const char* from) { return _mm512_castps_si512(Storage::load(from)); }
};

template <int kDim>
constexpr std::size_t value_bytes() {
  return std::size_t{kTileKeys} * kDim * 4;
}

template <class Storage, int kDim>
bool pack_values(const HeadRows& v, std::uint32_t* to) {
  constexpr std::int64_t kGroupUnits = kTileKeys * 4;
  constexpr int kInfOrNan = 0x99;  // vfpclassps: quiet NaN, +inf, -inf, signalling NaN
  __mmask16 odd_values = 0;
  for (int key = 0; key < (v.rows + 3) / 4 * 4; ++key) {
    for (int dim = 0; dim < kDim; dim += 16) {
      const char* from = bytes_at(v.data, key * v.stride_bytes + dim * Storage::kBytes);
      const __m512 values = key < v.rows ? Storage::load(from) : _mm512_setzero_ps();
      odd_values = static_cast<__mmask16>(odd_values | _mm512_fpclass_ps_mask(values, kInfOrNan));
      store_groups(to + dim / 4 * kGroupUnits + key * 4, kGroupUnits, _mm512_castps_si512(values));
    }
  }
  return odd_values == 0;
}

/// K in place if it is float32, else widened behind the packed V.
template <class Storage, int kDim>
void pack_keys(const HeadRows& k, const HeadRows& v, void* packed, PackedKeys& keys) {
  keys = {.k = k.data, .k_stride_bytes = k.stride_bytes, .v = packed, .keys = k.rows, .v_is_finite = true};
  keys.v_is_finite = pack_values<Storage, kDim>(v, static_cast<std::uint32_t*>(packed));
  if constexpr (Storage::kBytes != 4) {
    char* wide = static_cast<char*>(packed) + value_bytes<kDim>();
    for (int key = 0; key < k.rows; ++key) {
      for (int dim = 0; dim < kDim; dim += 16) {
        const char* from = bytes_at(k.data, key * k.stride_bytes + dim * Storage::kBytes);
        _mm512_store_ps(wide + (key * kDim + dim) * 4, Storage::load(from));
      }
    }
    keys.k = wide;
    keys.k_stride_bytes = kDim * 4;
  }
}

template <class Storage, int kDim>
TileOps ops() {
  return {.q_bytes = kDim * kTileQueries * 4,
          .kv_bytes = value_bytes<kDim>() * (Storage::kBytes == 4 ? 1 : 2),
          .scratch_bytes = kTileKeys * kTileQueries * 4,
          .pack_queries = pack_query_tile<WidenedUnits<Storage>, kDim>,
          .pack_keys = pack_keys<Storage, kDim>,
          .accumulate = accumulate_tile<FusedMultiplyAdd, kDim>,
          .write_rows = write_tile_rows<Storage, kDim>,
          .write_rows_float32 = write_tile_rows<Float32Storage, kDim>};
}

template <class Storage>
TileOps ops(int head_dim) {
  return head_dim == 64 ? ops<Storage, 64>() : ops<Storage, 128>();
}

}  // namespace

TileOps avx512_fma_ops(TileStorage storage, int head_dim) {
  switch (storage) {
    case TileStorage::bfloat16:
      return ops<Bfloat16Storage>(head_dim);
    case TileStorage::float16:
      return ops<Float16Storage>(head_dim);
    case TileStorage::float32:
      break;
  }
  return ops<Float32Storage>(head_dim);
}

}  // namespace ringcomm::inline v0::attention::host
