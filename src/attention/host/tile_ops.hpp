// SPDX-License-Identifier: Apache-2.0
// What a vector kernel does with one tile of queries and one tile of keys. Plain data and function pointers:
// files compiled for a newer instruction set include nothing else of ours, so that no inline function of
// theirs can end up in code that runs everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringcomm::inline v0::attention::host {

/// Queries of a tile, one per vector lane: four 512-bit vectors, or one for a decode step's few rows, which
/// would leave most of four idle.
inline constexpr int kWideTileQueries = 64, kNarrowTileQueries = 16;
enum class TileWidth : std::uint8_t { wide, narrow };
inline constexpr int kTileKeys = 128;
inline constexpr int kKeyAlignment = 8;  ///< where a task's keys may start within a tile

enum class TileStorage : std::uint8_t { float32, bfloat16, float16 };

/// Running softmax of one head's queries in a tile, carried in fp32.
struct TileState {
  float* out;  ///< [head_dim][queries], not normalised
  float* max;  ///< [queries] largest scaled score in base 2; -inf while no key was seen
  float* sum;  ///< [queries] sum of exp2(score - max)
};

/// Consecutive rows of one head of a strided tensor.
struct HeadRows {
  const void* data;
  std::int64_t stride_bytes;
  int rows;
};

namespace {  // compiled for several instruction sets

inline const char* bytes_at(const void* from, std::int64_t offset) {
  return static_cast<const char*>(from) + offset;
}

/// Fetches the rows that belong to step `step` of `steps`.
inline void prefetch_rows(const HeadRows& rows, int row_bytes, int step, int steps) {
  for (int row = step * rows.rows / steps; row < (step + 1) * rows.rows / steps; ++row) {
    for (int at = 0; at < row_bytes; at += 64)
      __builtin_prefetch(bytes_at(rows.data, row * rows.stride_bytes + at), 0, 2);
  }
}

}  // namespace

/// One KV tile as accumulate() reads it; the first task on it packs its values.
struct PackedKeys {
  const void* k;  ///< rows of 32-bit units, `k_stride_bytes` apart
  std::int64_t k_stride_bytes;
  void* v;  ///< [key units][head_dim] units, once is_v_packed
  int keys;
  bool is_v_packed;
  bool v_is_finite;  ///< else a masked key's zero weight must not meet its value: 0 * NaN is NaN
};

/// Lane i sees key j of the tile iff lower <= i - j <= upper and lane_first <= i < lane_final.
struct TileMask {
  int lower, upper;
  int lane_first, lane_final;
};

/// Rows that will be wanted soon, fetched into the cache while a task scores its keys.
struct TilePrefetch {
  HeadRows k, v;
  int row_bytes;
};

struct TileTask {
  const void* q;  ///< from pack_queries
  PackedKeys& keys;
  HeadRows v;  ///< of `keys`
  int head_dim;
  int key_first, key_final;  ///< only these keys may be visible; key_first is a multiple of kKeyAlignment
  TileMask mask;
  float scale;  ///< >= 0: |scale| * log2(e)
  TileState state;
  void* scratch;  ///< scratch_bytes, 64-byte aligned
  TilePrefetch next;
};

/// Normalised rows of one tile on their way to the output.
struct TileRows {
  const float* out;          ///< [head_dim][queries]
  const float* inverse_sum;  ///< [queries]; 0 means a row without keys, which is written as zeros
  int head_dim;
  void* to;
  std::int64_t stride_bytes;
  int rows;
};

/// One implementation for one dtype and any head_dim that is a multiple of 32. All memory is the caller's,
/// 64-byte aligned where packed.
struct TileOps {
  int queries = kWideTileQueries;  ///< of a tile
  int values_per_unit = 1;         ///< of q, k and v in 32 bits
  bool has_wide_k = false;         ///< K is widened into the packed tile, behind V
  /// `negate` flips the sign of all queries (a negative scale).
  void (*pack_queries)(const HeadRows& q, int head_dim, bool negate, void* packed) = nullptr;
  /// All of `keys` but the values, for which it leaves room.
  void (*pack_keys)(const HeadRows& k, int head_dim, void* packed, PackedKeys& keys) = nullptr;
  void (*accumulate)(const TileTask& task) = nullptr;
  void (*write_rows)(const TileRows& rows) = nullptr;           ///< in the input's dtype
  void (*write_rows_float32)(const TileRows& rows) = nullptr;   ///< unrounded
  void (*write_rows_streamed)(const TileRows& rows) = nullptr;  ///< float32, around the caches

  /// A packed query tile.
  std::size_t q_bytes(int head_dim) const {
    return static_cast<std::size_t>(head_dim / values_per_unit * queries) * 4;
  }
  /// A packed KV tile.
  std::size_t kv_bytes(int head_dim) const {
    const auto v_units = static_cast<std::size_t>(kTileKeys / values_per_unit * head_dim);
    return v_units * 4 + (has_wide_k ? std::size_t{kTileKeys} * static_cast<std::size_t>(head_dim) * 4 : 0);
  }
  /// Per worker: scores, and weights in units where those differ.
  std::size_t scratch_bytes() const {
    const std::size_t scores = static_cast<std::size_t>(kTileKeys * queries) * 4;
    return values_per_unit == 1 ? scores : scores + scores / static_cast<std::size_t>(values_per_unit);
  }
};

}  // namespace ringcomm::inline v0::attention::host
