// SPDX-License-Identifier: Apache-2.0
// Moves tiles between row-major tensors and the units of tile_kernel.hpp; `V` is Avx512 or Avx2.
#pragma once

#include "attention/host/tile_ops.hpp"
#include "attention/host/unroll.hpp"
#include "device/host/vector_stores.hpp"

namespace ringcomm::inline v0::attention::host {
namespace {

/// How elements of each storage type become a vector of floats, and back.
template <class V>
struct Float32Storage {
  static constexpr int kBytes = 4;
  static typename V::Floats load(const char* from) { return V::load_float32(from); }
  static void store(char* to, typename V::Floats values) { V::store_float32(to, values); }
};
/// For rows that other cores read and whose lines they may still hold from last time: such lines are slow to
/// write (performance spec 0).
template <class V>
struct StreamedFloat32 {
  static constexpr int kBytes = 4;
  static void store(char* to, typename V::Floats values) {
#if defined(RINGCOMM_VECTOR_STORES)
    if (reinterpret_cast<std::uintptr_t>(to) % sizeof values == 0) return V::stream_float32(to, values);
#endif
    V::store_float32(to, values);
  }
};
template <class V>
struct Bfloat16Storage {
  static constexpr int kBytes = 2;
  static typename V::Floats load(const char* from) { return V::load_bfloat16(from); }
  static void store(char* to, typename V::Floats values) { V::store_bfloat16(to, values); }
};
template <class V>
struct Float16Storage {
  static constexpr int kBytes = 2;
  static typename V::Floats load(const char* from) { return V::load_float16(from); }
  static void store(char* to, typename V::Floats values) { V::store_float16(to, values); }
};

/// Queries to [units][kQueries]; lanes without a row are zero. `Units::load` gives one vector of a row's
/// units.
template <class V, class Units, int kQueries>
void pack_query_tile(const HeadRows& q, int head_dim, bool negate, void* packed) {
  auto* to = static_cast<float*>(packed);
  const std::uint32_t flip = negate ? Units::kSignBits : 0;
  for (int lane = 0; lane < kQueries; lane += V::kLanes) {
    for (int unit = 0; unit < head_dim / Units::kValues; unit += V::kLanes) {
      typename V::Floats rows[V::kLanes];
      for (int i = 0; i < V::kLanes; ++i) {
        const char* from = bytes_at(q.data, (lane + i) * q.stride_bytes + unit * Units::kBytes);
        rows[i] = lane + i < q.rows ? V::flip_signs(Units::load(from), flip) : V::zero();
      }
      V::transpose(rows);
      for (int i = 0; i < V::kLanes; ++i) V::store(to + (unit + i) * kQueries + lane, rows[i]);
    }
  }
}

template <class V, class Storage, int kQueries>
void write_tile_rows(const TileRows& rows) {
  for (int lane = 0; lane < rows.rows; lane += V::kLanes) {
    for (int dim = 0; dim < rows.head_dim; dim += V::kLanes) {
      typename V::Floats tile[V::kLanes];
      for (int i = 0; i < V::kLanes; ++i) tile[i] = V::load(rows.out + (dim + i) * kQueries + lane);
      V::transpose(tile);
      for (int i = 0; i < V::kLanes; ++i) {
        const int row = lane + i;
        if (row >= rows.rows) break;
        const float inverse = rows.inverse_sum[row];
        Storage::store(static_cast<char*>(rows.to) + row * rows.stride_bytes + dim * Storage::kBytes,
                       inverse == 0.0F ? V::zero() : V::multiply(tile[i], V::all(inverse)));
      }
    }
  }
  V::fence();
}

/// One float per unit.
template <class V, class Storage>
struct WidenedUnits {
  static constexpr int kBytes = Storage::kBytes;
  static constexpr int kValues = 1;
  static constexpr std::uint32_t kSignBits = 0x80000000U;
  static typename V::Floats load(const char* from) { return Storage::load(from); }
};

/// Rows to [rows][head_dim] floats. True if all are finite.
template <class V, class Storage>
bool widen_rows(const HeadRows& rows, int head_dim, float* to) {
  bool is_finite = true;
  for (int row = 0; row < rows.rows; ++row, to += head_dim) {
    const char* from = bytes_at(rows.data, row * rows.stride_bytes);
    typename V::Floats odd = V::zero();
    for (int dim = 0; dim < head_dim; dim += V::kLanes) {
      const typename V::Floats values = Storage::load(from + dim * Storage::kBytes);
      // 0 * value is 0, or NaN for what is not finite.
      odd = V::multiply_add(values, V::zero(), odd);
      V::store(to + dim, values);
    }
    is_finite = is_finite && !V::has_infinity_or_nan(odd);
  }
  return is_finite;
}

/// Values as floats. True if all are finite.
template <class V, class Storage>
struct WidenedValues {
  static bool pack(const HeadRows& v, int head_dim, void* packed) {
    return widen_rows<V, Storage>(v, head_dim, static_cast<float*>(packed));
  }
};

/// K where it lies; V is not packed yet.
inline PackedKeys keys_in_place(const HeadRows& k, void* packed) {
  return {.k = k.data,
          .k_stride_bytes = k.stride_bytes,
          .v = packed,
          .keys = k.rows,
          .is_v_packed = false,
          .v_is_finite = false};
}

/// K in place if it is float32, else widened behind the packed V.
template <class V, class Storage>
void pack_widened_keys(const HeadRows& k, int head_dim, void* packed, PackedKeys& keys) {
  keys = keys_in_place(k, packed);
  if constexpr (Storage::kBytes != 4) {
    float* wide = static_cast<float*>(packed) + kTileKeys * head_dim;
    static_cast<void>(widen_rows<V, Storage>(k, head_dim, wide));
    keys.k = wide;
    keys.k_stride_bytes = head_dim * 4;
  }
}

}  // namespace
}  // namespace ringcomm::inline v0::attention::host
