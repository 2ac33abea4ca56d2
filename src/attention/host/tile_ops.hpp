// SPDX-License-Identifier: Apache-2.0
// What a vector kernel does with one tile of queries and one tile of keys. Plain data and function pointers:
// files compiled for a newer instruction set include nothing else of ours, so that no inline function of
// theirs can end up in code that runs everywhere.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringcomm::inline v0::attention::host {

inline constexpr int kTileQueries = 64;  ///< one per vector lane: four 512-bit vectors
inline constexpr int kTileKeys = 128;

/// Running softmax of one head's kTileQueries queries, carried in fp32.
struct TileState {
  float* out;  ///< [head_dim][kTileQueries], not normalised
  float* max;  ///< [kTileQueries] largest scaled score in base 2; -inf while no key was seen
  float* sum;  ///< [kTileQueries] sum of exp2(score - max)
};

/// Consecutive rows of one head of a strided tensor.
struct HeadRows {
  const void* data;
  std::int64_t stride_bytes;
  int rows;
};

/// One KV tile as accumulate() reads it.
struct PackedKeys {
  const void* k;  ///< rows of 32-bit units, `k_stride_bytes` apart
  std::int64_t k_stride_bytes;
  const void* v;  ///< [head_dim / 4][key units of a tile][4], zero behind the last key
  int keys;
  bool v_is_finite;  ///< else a masked key's zero weight must not meet its value: 0 * NaN is NaN
};

/// Lane i sees key j of the tile iff lower <= i - j <= upper and lane_first <= i < lane_final.
struct TileMask {
  int lower, upper;
  int lane_first, lane_final;
};

struct TileTask {
  const void* q;  ///< from pack_queries
  PackedKeys keys;
  int key_first, key_final;  ///< only these keys may be visible; key_first is a multiple of 4
  TileMask mask;
  float scale;  ///< >= 0: |scale| * log2(e)
  TileState state;
  void* scratch;  ///< scratch_bytes, 64-byte aligned
};

/// Normalised rows of one tile on their way to the output.
struct TileRows {
  const float* out;          ///< [head_dim][kTileQueries]
  const float* inverse_sum;  ///< [kTileQueries]; 0 means a row without keys, which is written as zeros
  void* to;
  std::int64_t stride_bytes;
  int rows;
};

/// One implementation for one (dtype, head_dim). All memory is the caller's, 64-byte aligned where packed.
struct TileOps {
  std::size_t q_bytes = 0;        ///< a packed query tile
  std::size_t kv_bytes = 0;       ///< a packed KV tile
  std::size_t scratch_bytes = 0;  ///< per worker
  /// `negate` flips the sign of all queries (a negative scale).
  void (*pack_queries)(const HeadRows& q, bool negate, void* packed) = nullptr;
  void (*pack_keys)(const HeadRows& k, const HeadRows& v, void* packed, PackedKeys& keys) = nullptr;
  void (*accumulate)(const TileTask& task) = nullptr;
  void (*write_rows)(const TileRows& rows) = nullptr;          ///< in the input's dtype
  void (*write_rows_float32)(const TileRows& rows) = nullptr;  ///< unrounded
};

}  // namespace ringcomm::inline v0::attention::host
