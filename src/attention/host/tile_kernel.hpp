// SPDX-License-Identifier: Apache-2.0
// One tile of attention with queries in the vector lanes, after performance spec 3: S^T = K Q^T, so that
// softmax is plain vertical arithmetic. Operands are units of 32 bits: one float, or a pair of bfloat16 along
// the summed axis.
//
// An arithmetic `A` names its vectors (A::V), the values per unit, the queries of a tile, and the micro-tile:
// kRows keys (or dims) by kVectors vectors of queries. The lanes of a tile are computed in passes of kVectors
// vectors each. A query's sums have the same order whatever the tile's width.
#pragma once

#include "attention/host/tile_ops.hpp"
#include "attention/host/tile_pack.hpp"
#include "attention/host/unroll.hpp"

namespace ringcomm::inline v0::attention::host {
namespace {

template <class A>
using Floats = typename A::V::Floats;
template <class A>
constexpr int kPassLanes = A::kVectors* A::V::kLanes;

inline int larger_of(int a, int b) { return a > b ? a : b; }
inline int smaller_of(int a, int b) { return a < b ? a : b; }

/// One fp32 multiply-add per unit.
template <class Vectors, int kTileQueries, int kTileRows, int kTileVectors>
struct FusedMultiplyAdd {
  using V = Vectors;
  static constexpr int kQueries = kTileQueries, kRows = kTileRows, kVectors = kTileVectors;
  static constexpr int kValuesPerUnit = 1;
  static typename V::Floats add_product(typename V::Floats sum, typename V::Floats a, typename V::Floats b) {
    return V::multiply_add(a, b, sum);
  }
  static typename V::Floats add_broadcast(typename V::Floats sum, typename V::Floats a, const void* b) {
    float unit;
    __builtin_memcpy(&unit, b, sizeof unit);
    return V::multiply_add(a, V::all(unit), sum);
  }
  static typename V::Floats unit_of(const typename V::Floats (&weight)[1]) { return weight[0]; }
  static typename V::Floats value_of(typename V::Floats unit, int) { return unit; }
};

/// The lanes [lane, lane + kPassLanes) of a task and the keys [key_first, key_final) that any of them sees.
template <class A>
struct Pass {
  const TileTask& task;
  int lane, key_first, key_final;
  int count;                ///< of keys, whole micro-tiles
  int wanted[A::kVectors];  ///< of them, how many from the first on each vector needs; not decreasing

  Pass(const TileTask& of, int first_lane) : task(of), lane(first_lane) {
    const TileMask& mask = task.mask;
    const int lowest = larger_of(mask.lane_first, lane);
    const int highest = smaller_of(mask.lane_final, lane + kPassLanes<A>) - 1;
    key_first = larger_of(task.key_first, (lowest - mask.upper) & ~(kKeyAlignment - 1));
    key_final = lowest > highest ? key_first : smaller_of(task.key_final, highest - mask.lower + 1);
    count = key_first < key_final ? (key_final - key_first + A::kRows - 1) / A::kRows * A::kRows : 0;
    for (int c = 0; c < A::kVectors; ++c) {
      const int last = smaller_of(highest, lane + (c + 1) * A::V::kLanes - 1) - mask.lower;
      const int keys = larger_of(0, smaller_of(key_final, last + 1) - key_first);
      wanted[c] = count == 0 ? 0 : (keys + A::kRows - 1) / A::kRows * A::kRows;
    }
  }
  /// Lanes (of the tile) that see key j; none if low > high.
  int low(int j) const { return larger_of(task.mask.lower + j, task.mask.lane_first); }
  int high(int j) const {
    return j < task.keys.keys ? smaller_of(task.mask.upper + j, task.mask.lane_final - 1) : -1;
  }
};

/// Adds the products of the lanes at `lanes` and the unit at `unit` to the vectors from kFirst on.
template <class A, int kFirst>
RINGCOMM_IN_PLACE void add_row(Floats<A> (&sum)[A::kVectors], const float* lanes, const void* unit) {
  using V = typename A::V;
  if constexpr (A::kVectors == 1) {
    sum[0] = A::add_broadcast(sum[0], V::load(lanes), unit);
  } else {
    float value;
    __builtin_memcpy(&value, unit, sizeof value);
    RINGCOMM_UNROLL
    for (int c = kFirst; c < A::kVectors; ++c) {
      sum[c] = A::add_product(sum[c], V::load(lanes + c * V::kLanes), V::all(value));
    }
  }
}

/// Scores of kRows keys from `j` on go to [keys][kPassLanes], hidden ones as -inf; vectors below kFirst see
/// none of the keys. `max` takes the largest; it skips NaN, which comes back through exp2.
template <class A, int kFirst>
RINGCOMM_IN_PLACE void score_rows(const Pass<A>& pass, int j, float* scores, Floats<A> (&max)[A::kVectors]) {
  using V = typename A::V;
  const TileTask& task = pass.task;
  const char* k[A::kRows];
  RINGCOMM_UNROLL
  for (int i = 0; i < A::kRows; ++i) {  // behind the last key the last one is read again, and hidden
    k[i] = bytes_at(task.keys.k, smaller_of(j + i, task.keys.keys - 1) * task.keys.k_stride_bytes);
  }
  Floats<A> sum[A::kRows][A::kVectors];
  RINGCOMM_UNROLL
  for (int i = 0; i < A::kRows; ++i) {
    RINGCOMM_UNROLL
    for (int c = kFirst; c < A::kVectors; ++c) sum[i][c] = V::zero();
  }
  const float* q = static_cast<const float*>(task.q) + pass.lane;
  const int units = task.head_dim / A::kValuesPerUnit;
  for (int unit = 0; unit < units; ++unit, q += A::kQueries) {
    RINGCOMM_UNROLL
    for (int i = 0; i < A::kRows; ++i) {
      add_row<A, kFirst>(sum[i], q, k[i] + 4 * unit);
    }
  }
  const int last = j + A::kRows - 1;
  const bool is_seen =
      pass.low(last) <= pass.lane && last < task.keys.keys && pass.high(j) >= pass.lane + kPassLanes<A> - 1;
  float* to = scores + (j - pass.key_first) * kPassLanes<A>;
  if (!is_seen) {
    RINGCOMM_UNROLL
    for (int i = 0; i < A::kRows; ++i) {
      RINGCOMM_UNROLL
      for (int c = kFirst; c < A::kVectors; ++c) {
        const int lane = pass.lane + c * V::kLanes;
        sum[i][c] =
            V::choose(sum[i][c], pass.low(j + i) - lane, pass.high(j + i) - lane, V::all(-__builtin_inff()));
      }
    }
  }
  RINGCOMM_UNROLL
  for (int i = 0; i < A::kRows; ++i) {
    RINGCOMM_UNROLL
    for (int c = kFirst; c < A::kVectors; ++c) {
      V::store(to + i * kPassLanes<A> + c * V::kLanes, sum[i][c]);
      max[c] = V::larger(sum[i][c], max[c]);
    }
  }
}

/// From vector kFirst on: the keys of which kFirst is the first vector that sees any, then the next vector's.
template <class A, int kFirst>
RINGCOMM_IN_PLACE void score_from(const Pass<A>& pass, int done, float* scores,
                                  Floats<A> (&max)[A::kVectors]) {
  for (; done < pass.wanted[kFirst]; done += A::kRows) {
    const TilePrefetch& next = pass.task.next;
    const int step = done / A::kRows + pass.lane / kPassLanes<A> * (pass.count / A::kRows);
    const int steps = pass.count / A::kRows * (A::kQueries / kPassLanes<A>);
    prefetch_rows(next.k, next.row_bytes, step, steps);
    prefetch_rows(next.v, next.row_bytes, step, steps);
    score_rows<A, kFirst>(pass, pass.key_first + done, scores, max);
  }
  if constexpr (kFirst + 1 < A::kVectors) score_from<A, kFirst + 1>(pass, done, scores, max);
}

/// Online softmax: scores become weights in the arithmetic's units, [key units][kPassLanes]; max and sum of
/// the state move on. `keep` is what the state's output must be multiplied by.
template <class A>
inline void weigh_keys(const Pass<A>& pass, const float* scores, const Floats<A> (&max)[A::kVectors],
                       float* weights, Floats<A> (&keep)[A::kVectors]) {
  using V = typename A::V;
  const TileState& state = pass.task.state;
  const Floats<A> scale = V::all(pass.task.scale);
  RINGCOMM_UNROLL
  for (int c = 0; c < A::kVectors; ++c) {
    const int lane = pass.lane + c * V::kLanes;
    const Floats<A> old_max = V::load(state.max + lane);
    const Floats<A> new_max = V::larger(V::multiply(max[c], scale), old_max);
    // Nothing but -inf so far: (-inf) - (-inf) would be NaN.
    const Floats<A> base = V::zero_where_equal(new_max, V::all(-__builtin_inff()));
    keep[c] = V::exp2(V::subtract(old_max, base));
    Floats<A> sum = V::multiply(V::load(state.sum + lane), keep[c]);
    const float* from = scores + c * V::kLanes;
    float* to = weights + c * V::kLanes;
    for (int j = 0; j < pass.wanted[c]; j += A::kValuesPerUnit, to += kPassLanes<A>) {
      Floats<A> weight[A::kValuesPerUnit];
      RINGCOMM_UNROLL
      for (int i = 0; i < A::kValuesPerUnit; ++i) {
        weight[i] = V::exp2(V::multiply_subtract(V::load(from + (j + i) * kPassLanes<A>), scale, base));
        sum = V::add(sum, weight[i]);
      }
      V::store(to, A::unit_of(weight));
    }
    V::store(state.max + lane, new_max);
    V::store(state.sum + lane, sum);
  }
}

/// Units [done, ...) of the sums of kRows dims, in the order of score_from.
template <class A, int kFirst>
RINGCOMM_IN_PLACE void add_from(const Pass<A>& pass, int done, int units, const float* weights,
                                const float* v, Floats<A> (&sum)[A::kRows][A::kVectors]) {
  const int end = smaller_of(units, pass.wanted[kFirst] / A::kValuesPerUnit);
  const int stride = pass.task.head_dim;
  for (; done < end; ++done) {
    RINGCOMM_UNROLL
    for (int i = 0; i < A::kRows; ++i) {
      add_row<A, kFirst>(sum[i], weights + done * kPassLanes<A>, v + done * stride + i);
    }
  }
  if constexpr (kFirst + 1 < A::kVectors) add_from<A, kFirst + 1>(pass, done, units, weights, v, sum);
}

/// The packed V from the pass's first key on.
template <class A>
inline const float* values_of(const Pass<A>& pass) {
  return static_cast<const float*>(pass.task.keys.v) +
         pass.key_first / A::kValuesPerUnit * pass.task.head_dim;
}

template <class A>
RINGCOMM_IN_PLACE void add_values(const Pass<A>& pass, const float* weights,
                                  const Floats<A> (&keep)[A::kVectors]) {
  using V = typename A::V;
  const int keys = smaller_of(pass.key_first + pass.count, pass.task.keys.keys) - pass.key_first;
  const int units = (keys + A::kValuesPerUnit - 1) / A::kValuesPerUnit;
  const float* v = values_of(pass);
  for (int dim = 0; dim < pass.task.head_dim; dim += A::kRows, v += A::kRows) {
    float* out = pass.task.state.out + dim * A::kQueries + pass.lane;
    Floats<A> sum[A::kRows][A::kVectors];
    RINGCOMM_UNROLL
    for (int i = 0; i < A::kRows; ++i) {
      RINGCOMM_UNROLL
      for (int c = 0; c < A::kVectors; ++c) {
        sum[i][c] = V::multiply(V::load(out + i * A::kQueries + c * V::kLanes), keep[c]);
      }
    }
    add_from<A, 0>(pass, 0, units, weights, v, sum);
    RINGCOMM_UNROLL
    for (int i = 0; i < A::kRows; ++i) {
      RINGCOMM_UNROLL
      for (int c = 0; c < A::kVectors; ++c) V::store(out + i * A::kQueries + c * V::kLanes, sum[i][c]);
    }
  }
}

/// The same, slowly, for a tile whose values hold inf or NaN while some of its keys are hidden from some
/// lanes.
template <class A>
inline void add_seen_values(const Pass<A>& pass, const float* weights, const Floats<A> (&keep)[A::kVectors]) {
  using V = typename A::V;
  const int stride = pass.task.head_dim;
  for (int dim = 0; dim < pass.task.head_dim; ++dim) {
    for (int c = 0; c < A::kVectors; ++c) {
      const int lane = pass.lane + c * V::kLanes;
      float* out = pass.task.state.out + dim * A::kQueries + lane;
      Floats<A> sum = V::multiply(V::load(out), keep[c]);
      for (int at = 0; pass.key_first + at < pass.key_final; ++at) {
        const int j = pass.key_first + at;
        const int unit = at / A::kValuesPerUnit;
        const float packed = values_of(pass)[unit * stride + dim];
        const Floats<A> weight = A::value_of(V::load(weights + unit * kPassLanes<A> + c * V::kLanes), at);
        const Floats<A> added = V::multiply_add(weight, A::value_of(V::all(packed), at), sum);
        sum = V::choose(added, pass.low(j) - lane, pass.high(j) - lane, sum);
      }
      V::store(out, sum);
    }
  }
}

/// `Values` packs V, between the two products: its rows arrive while the keys are scored.
template <class A, class Values>
void accumulate_tile(const TileTask& task) {
  auto* scores = static_cast<float*>(task.scratch);
  float* weights = scores + (A::kValuesPerUnit == 1 ? 0 : kTileKeys * kPassLanes<A>);
  for (int lane = 0; lane < A::kQueries; lane += kPassLanes<A>) {
    const Pass<A> pass(task, lane);
    if (pass.count == 0) continue;
    Floats<A> max[A::kVectors];
    Floats<A> keep[A::kVectors];
    RINGCOMM_UNROLL
    for (int c = 0; c < A::kVectors; ++c) max[c] = A::V::all(-__builtin_inff());
    score_from<A, 0>(pass, 0, scores, max);
    weigh_keys<A>(pass, scores, max, weights, keep);
    if (!task.keys.is_v_packed) {
      task.keys.v_is_finite = Values::pack(task.v, task.head_dim, task.keys.v);
      task.keys.is_v_packed = true;
    }
    if (task.keys.v_is_finite) {
      add_values<A>(pass, weights, keep);
    } else {
      add_seen_values<A>(pass, weights, keep);
    }
  }
}

}  // namespace
}  // namespace ringcomm::inline v0::attention::host
