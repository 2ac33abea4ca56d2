// SPDX-License-Identifier: Apache-2.0
// One tile of attention with queries in the vector lanes, after performance spec 3: S^T = K Q^T, so that
// softmax is plain vertical arithmetic. Operands are units of 32 bits: one float, or a pair of bfloat16 along
// the summed axis.
#pragma once

#include <immintrin.h>

#include "attention/host/avx512_vector.hpp"
#include "attention/host/tile_ops.hpp"

namespace ringcomm::inline v0::attention::host {
namespace {

constexpr int kLaneVectors = kTileQueries / 16;
constexpr int kRows =
    4;  // keys (or dims) of a micro-tile: 16 accumulators hide the latency of both arithmetics

/// Bit i: lane i sees key j of the tile.
inline std::uint64_t lanes_seeing(const TileTask& task, int j) {
  const TileMask& mask = task.mask;
  const int low = mask.lower + j > mask.lane_first ? mask.lower + j : mask.lane_first;
  const int high = mask.upper + j < mask.lane_final - 1 ? mask.upper + j : mask.lane_final - 1;
  if (j >= task.keys.keys || low > high) return 0;
  return (~std::uint64_t{0} << low) & (~std::uint64_t{0} >> (63 - high));
}

inline __mmask16 lanes_of(std::uint64_t lanes, int vector) {
  return static_cast<__mmask16>(lanes >> (16 * vector));
}

/// Scores of key_first .. key_final (rounded up to kRows) go to [keys][kTileQueries], hidden ones as -inf.
/// `max` takes the largest; it skips NaN, which comes back through exp2.
template <class Arithmetic, int kDim>
inline void score_keys(const TileTask& task, float* scores, __m512 (&max)[kLaneVectors]) {
  constexpr int kUnits = kDim / Arithmetic::kValuesPerUnit;
  const __m512 hidden = _mm512_set1_ps(-__builtin_inff());
  const auto* q = static_cast<const __m512i*>(task.q);
  for (int j = task.key_first; j < task.key_final; j += kRows) {
    const char* k[kRows];
    RINGCOMM_UNROLL
    for (int i = 0; i < kRows; ++i) {  // behind the last key the last one is read again, and hidden
      const int row = j + i < task.keys.keys ? j + i : task.keys.keys - 1;
      k[i] = bytes_at(task.keys.k, row * task.keys.k_stride_bytes);
    }
    __m512 sum[kRows][kLaneVectors];
    RINGCOMM_UNROLL
    for (int i = 0; i < kRows; ++i) {
      RINGCOMM_UNROLL
      for (int c = 0; c < kLaneVectors; ++c) sum[i][c] = _mm512_setzero_ps();
    }
    for (int unit = 0; unit < kUnits; ++unit) {
      RINGCOMM_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const __m512i key = _mm512_set1_epi32(static_cast<int>(load_unit(k[i] + 4 * unit)));
        RINGCOMM_UNROLL
        for (int c = 0; c < kLaneVectors; ++c) {
          sum[i][c] = Arithmetic::multiply_add(sum[i][c], q[unit * kLaneVectors + c], key);
        }
      }
    }
    RINGCOMM_UNROLL
    for (int i = 0; i < kRows; ++i) {
      const std::uint64_t lanes = lanes_seeing(task, j + i);
      RINGCOMM_UNROLL
      for (int c = 0; c < kLaneVectors; ++c) {
        const __m512 seen = _mm512_mask_mov_ps(hidden, lanes_of(lanes, c), sum[i][c]);
        _mm512_store_ps(scores + (j - task.key_first + i) * kTileQueries + 16 * c, seen);
        max[c] = _mm512_max_ps(seen, max[c]);
      }
    }
  }
}

/// Online softmax: scores become weights in the arithmetic's units, [key units][kTileQueries]; max and sum of
/// the state move on. `keep` is what the state's output must be multiplied by.
template <class Arithmetic>
inline void weigh_keys(const TileTask& task, const float* scores, const __m512 (&max)[kLaneVectors],
                       __m512i* weights, __m512 (&keep)[kLaneVectors]) {
  const __m512 scale = _mm512_set1_ps(task.scale);
  const __m512 no_key = _mm512_set1_ps(-__builtin_inff());
  const int keys = (task.key_final - task.key_first + kRows - 1) / kRows * kRows;
  RINGCOMM_UNROLL
  for (int c = 0; c < kLaneVectors; ++c) {
    const __m512 old_max = _mm512_load_ps(task.state.max + 16 * c);
    const __m512 new_max = _mm512_max_ps(_mm512_mul_ps(max[c], scale), old_max);
    // Nothing but -inf so far: (-inf) - (-inf) would be NaN.
    const __m512 base =
        _mm512_mask_mov_ps(new_max, _mm512_cmp_ps_mask(new_max, no_key, _CMP_EQ_OQ), _mm512_setzero_ps());
    keep[c] = exp2_of(_mm512_sub_ps(old_max, base));
    __m512 sum = _mm512_mul_ps(_mm512_load_ps(task.state.sum + 16 * c), keep[c]);
    for (int j = 0; j < keys; j += Arithmetic::kValuesPerUnit) {
      __m512 weight[Arithmetic::kValuesPerUnit];
      RINGCOMM_UNROLL
      for (int i = 0; i < Arithmetic::kValuesPerUnit; ++i) {
        const __m512 score = _mm512_load_ps(scores + (j + i) * kTileQueries + 16 * c);
        weight[i] = exp2_of(_mm512_fmsub_ps(score, scale, base));
        sum = _mm512_add_ps(sum, weight[i]);
      }
      weights[j / Arithmetic::kValuesPerUnit * kLaneVectors + c] = Arithmetic::unit_of(weight);
    }
    _mm512_store_ps(task.state.max + 16 * c, new_max);
    _mm512_store_ps(task.state.sum + 16 * c, sum);
  }
}

/// First unit of four dims of V for the task's first key.
template <class Arithmetic>
inline const std::uint32_t* value_units(const TileTask& task, int dim) {
  constexpr int kUnits = kTileKeys / Arithmetic::kValuesPerUnit;
  return static_cast<const std::uint32_t*>(task.keys.v) +
         (dim / 4 * kUnits + task.key_first / Arithmetic::kValuesPerUnit) * 4;
}

template <class Arithmetic, int kDim>
inline void add_values(const TileTask& task, const __m512i* weights, const __m512 (&keep)[kLaneVectors]) {
  const int units =
      (task.key_final - task.key_first + kRows - 1) / kRows * kRows / Arithmetic::kValuesPerUnit;
  for (int dim = 0; dim < kDim; dim += kRows) {
    const std::uint32_t* v = value_units<Arithmetic>(task, dim);
    float* out = task.state.out + dim * kTileQueries;
    __m512 sum[kRows][kLaneVectors];
    RINGCOMM_UNROLL
    for (int i = 0; i < kRows; ++i) {
      RINGCOMM_UNROLL
      for (int c = 0; c < kLaneVectors; ++c) {
        sum[i][c] = _mm512_mul_ps(_mm512_load_ps(out + i * kTileQueries + 16 * c), keep[c]);
      }
    }
    for (int unit = 0; unit < units; ++unit) {
      RINGCOMM_UNROLL
      for (int i = 0; i < kRows; ++i) {
        const __m512i value = _mm512_set1_epi32(static_cast<int>(v[unit * 4 + i]));
        RINGCOMM_UNROLL
        for (int c = 0; c < kLaneVectors; ++c) {
          sum[i][c] = Arithmetic::multiply_add(sum[i][c], weights[unit * kLaneVectors + c], value);
        }
      }
    }
    RINGCOMM_UNROLL
    for (int i = 0; i < kRows; ++i) {
      RINGCOMM_UNROLL
      for (int c = 0; c < kLaneVectors; ++c) _mm512_store_ps(out + i * kTileQueries + 16 * c, sum[i][c]);
    }
  }
}

/// The same, slowly, for a tile whose values hold inf or NaN while some of its keys are hidden from some
/// lanes.
template <class Arithmetic, int kDim>
inline void add_seen_values(const TileTask& task, const __m512i* weights,
                            const __m512 (&keep)[kLaneVectors]) {
  for (int dim = 0; dim < kDim; ++dim) {
    const std::uint32_t* v = value_units<Arithmetic>(task, dim) + dim % 4;
    for (int c = 0; c < kLaneVectors; ++c) {
      float* out = task.state.out + dim * kTileQueries + 16 * c;
      __m512 sum = _mm512_mul_ps(_mm512_load_ps(out), keep[c]);
      for (int j = task.key_first; j < task.key_final; ++j) {
        const int at = j - task.key_first;
        const int unit = at / Arithmetic::kValuesPerUnit;
        const __m512 weight = Arithmetic::value_of(weights[unit * kLaneVectors + c], at);
        const __m512 value = Arithmetic::value_of(_mm512_set1_epi32(static_cast<int>(v[unit * 4])), at);
        sum = _mm512_mask3_fmadd_ps(weight, value, sum, lanes_of(lanes_seeing(task, j), c));
      }
      _mm512_store_ps(out, sum);
    }
  }
}

template <class Arithmetic, int kDim>
void accumulate_tile(const TileTask& task) {
  auto* scores = static_cast<float*>(task.scratch);
  auto* weights = static_cast<__m512i*>(task.scratch) + (Arithmetic::kValuesPerUnit == 1 ? 0 : kTileKeys * 4);
  __m512 max[kLaneVectors];
  __m512 keep[kLaneVectors];
  for (int c = 0; c < kLaneVectors; ++c) max[c] = _mm512_set1_ps(-__builtin_inff());
  score_keys<Arithmetic, kDim>(task, scores, max);
  weigh_keys<Arithmetic>(task, scores, max, weights, keep);
  if (task.keys.v_is_finite) {
    add_values<Arithmetic, kDim>(task, weights, keep);
  } else {
    add_seen_values<Arithmetic, kDim>(task, weights, keep);
  }
}

}  // namespace
}  // namespace ringcomm::inline v0::attention::host
