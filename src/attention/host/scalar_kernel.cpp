// SPDX-License-Identifier: Apache-2.0
// The portable block kernel: plain loops that the compiler vectorises for the baseline instruction set.
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "attention/host/kernel_factories.hpp"
#include "attention/host/key_span.hpp"
#include "attention/host/strided_rows.hpp"

namespace ringcomm::inline v0::attention::host {
namespace {

constexpr int kTileRows = 16;
constexpr int kTileKeys = 64;
constexpr float kNoKeyMax = -std::numeric_limits<float>::infinity();

/// fp32 copies of one query tile (all heads of a group) and one key tile.
struct Scratch {
  std::vector<float> q;  // [group heads, kTileRows, dim]
  std::vector<float> k;  // [dim, kTileKeys]: transposed, so that the inner loop runs over keys
  std::vector<float> v;  // [kTileKeys, dim]
};

/// Four dims a pass: fewer loads and stores of the sums. Keys of the tile beyond its end give unused sums.
void dot_tile(const float* q, const float* k, int dim, float* sums) {
  std::fill_n(sums, kTileKeys, 0.0F);
  for (int d = 0; d < dim; d += 4) {
    const float* k0 = k + d * kTileKeys;
    for (int j = 0; j < kTileKeys; ++j) {
      sums[j] += (q[d] * k0[j] + q[d + 1] * k0[j + kTileKeys]) +
                 (q[d + 2] * k0[j + 2 * kTileKeys] + q[d + 3] * k0[j + 3 * kTileKeys]);
    }
  }
}

/// out += sum of weight[j] * v[j] for j in [first, final): keys outside are not read, they may hold NaN.
void add_weighted_rows(const float* weight, const float* v, int first, int final, int dim, float* out) {
  int j = first;
  for (; j + 4 <= final; j += 4) {
    const float* v0 = v + j * dim;
    for (int d = 0; d < dim; ++d) {
      out[d] += (weight[j] * v0[d] + weight[j + 1] * v0[d + dim]) +
                (weight[j + 2] * v0[d + 2 * dim] + weight[j + 3] * v0[d + 3 * dim]);
    }
  }
  for (; j < final; ++j) {
    for (int d = 0; d < dim; ++d) out[d] += weight[j] * v[j * dim + d];
  }
}

template <class T>
class ScalarKernel final : public BlockKernel {
 public:
  ScalarKernel(const KernelShape& shape, WorkerTeam& team) : shape_(shape), team_(team) { allocate(); }

  void begin(const TensorView& q) override {
    q_ = q;
    std::fill(out_.begin(), out_.end(), 0.0F);
    std::fill(max_.begin(), max_.end(), kNoKeyMax);
    std::fill(sum_.begin(), sum_.end(), 0.0F);
  }

  void accumulate(const BlockRange& range, const TensorView& k, const TensorView& v) override {
    const std::int64_t tiles = (range.q_count + kTileRows - 1) / kTileRows;
    const auto body = [&](std::int64_t index, int worker) {
      const Tile tile{static_cast<int>(index / tiles), index % tiles * kTileRows};
      accumulate_tile(range, k, v, tile, scratch_[static_cast<std::size_t>(worker)]);
    };
    if (k.shape[0] > 0 && tiles > 0) team_.for_each(tiles * shape_.kv_heads, std::cref(body));
  }

  void finish(const TensorView& out, const TensorView& lse) override {
    const auto body = [&](std::int64_t row, int) {
      for (int head = 0; head < shape_.q_heads; ++head) write_row(out, lse, row, head);
    };
    team_.for_each(shape_.q_rows, std::cref(body));
  }

  std::size_t state_bytes() const override {
    std::size_t floats = out_.size() + max_.size() + sum_.size();
    for (const Scratch& scratch : scratch_) floats += scratch.q.size() + scratch.k.size() + scratch.v.size();
    return floats * sizeof(float);
  }
  CpuLevel level() const override { return CpuLevel::scalar; }

 private:
  /// kTileRows queries (fewer at the end of the range) of the heads that share a kv head.
  struct Tile {
    int kv_head;
    std::int64_t first;  // row within the range
  };

  void allocate() {
    const auto states = static_cast<std::size_t>(shape_.q_rows) * static_cast<std::size_t>(shape_.q_heads);
    out_.resize(states * dims());
    max_.resize(states);
    sum_.resize(states);
    scratch_.resize(static_cast<std::size_t>(team_.size()));
    for (Scratch& scratch : scratch_) {
      scratch.q.resize(static_cast<std::size_t>(group() * kTileRows * shape_.head_dim));
      scratch.k.resize(dims() * kTileKeys);
      scratch.v.resize(kTileKeys * dims());
    }
  }

  int group() const { return shape_.q_heads / shape_.kv_heads; }
  std::size_t dims() const { return static_cast<std::size_t>(shape_.head_dim); }
  std::size_t state_of(std::int64_t row, int head) const {
    return static_cast<std::size_t>(head * shape_.q_rows + row);
  }

  void accumulate_tile(const BlockRange& range, const TensorView& k, const TensorView& v, const Tile& tile,
                       Scratch& scratch) {
    const int rows = static_cast<int>(std::min<std::int64_t>(kTileRows, range.q_count - tile.first));
    const VisibleBand band = band_of_range(range);
    const KeySpan seen = keys_seen(band, tile.first, tile.first + rows - 1, k.shape[0]);
    if (seen.first >= seen.final) return;
    load_queries(range, tile, rows, scratch);
    for (std::int64_t base = seen.first; base < seen.final; base += kTileKeys) {
      const int keys = static_cast<int>(std::min<std::int64_t>(kTileKeys, seen.final - base));
      load_keys(k, v, tile.kv_head, base, keys, scratch);
      for (int index = 0; index < group() * rows; ++index) {
        const int row = index % rows;
        const std::int64_t i = tile.first + row - base;  // counted from the key tile's first key
        const KeySpan span = keys_seen(band, i, i, keys);
        if (span.first >= span.final) continue;
        const int head = index / rows;
        add_keys(scratch, &scratch.q[static_cast<std::size_t>((head * kTileRows + row) * shape_.head_dim)],
                 span, state_of(range.q_first + tile.first + row, tile.kv_head * group() + head));
      }
    }
  }

  void load_queries(const BlockRange& range, const Tile& tile, int rows, Scratch& scratch) const {
    for (int head = 0; head < group(); ++head) {
      for (int row = 0; row < rows; ++row) {
        const T* from = row_of<const T>(q_, range.q_first + tile.first + row, tile.kv_head * group() + head);
        float* to = &scratch.q[static_cast<std::size_t>((head * kTileRows + row) * shape_.head_dim)];
        for (int d = 0; d < shape_.head_dim; ++d) to[d] = to_float(from[d]);
      }
    }
  }

  void load_keys(const TensorView& k, const TensorView& v, int kv_head, std::int64_t base, int keys,
                 Scratch& scratch) const {
    for (int j = 0; j < keys; ++j) {
      const T* from_k = row_of<const T>(k, base + j, kv_head);
      const T* from_v = row_of<const T>(v, base + j, kv_head);
      for (int d = 0; d < shape_.head_dim; ++d) {
        scratch.k[static_cast<std::size_t>(d * kTileKeys + j)] = to_float(from_k[d]);
        scratch.v[static_cast<std::size_t>(j * shape_.head_dim + d)] = to_float(from_v[d]);
      }
    }
  }

  /// Online softmax of one row. The maximum skips NaN; exp() then brings it back into the sum.
  void add_keys(const Scratch& scratch, const float* q, const KeySpan& span, std::size_t state) {
    alignas(64) std::array<float, kTileKeys> weight;
    const int first = static_cast<int>(span.first);
    const int final = static_cast<int>(span.final);
    dot_tile(q, scratch.k.data(), shape_.head_dim, weight.data());
    float max = max_[state];
    for (int j = first; j < final; ++j) {
      float& score = weight[static_cast<std::size_t>(j)];
      score *= shape_.scale;
      if (score > max) max = score;
    }
    const float base = max == kNoKeyMax ? 0.0F : max;  // only -inf so far: (-inf) - (-inf) would be NaN
    const float keep = std::exp(max_[state] - base);
    float sum = sum_[state] * keep;
    for (int j = first; j < final; ++j) {
      float& score = weight[static_cast<std::size_t>(j)];
      score = std::exp(score - base);
      sum += score;
    }
    max_[state] = max;
    sum_[state] = sum;
    float* out = &out_[state * dims()];
    if (keep != 1.0F) {
      for (int d = 0; d < shape_.head_dim; ++d) out[d] *= keep;
    }
    add_weighted_rows(weight.data(), scratch.v.data(), first, final, shape_.head_dim, out);
  }

  void write_row(const TensorView& out, const TensorView& lse, std::int64_t row, int head) const {
    const std::size_t state = state_of(row, head);
    const float sum = sum_[state];
    const float* from = &out_[state * dims()];
    if (out.dtype == shape_.dtype) {
      write_values(from, sum, row_of<T>(out, row, head));
    } else {
      write_values(from, sum, row_of<float>(out, row, head));
    }
    static_cast<float*>(lse.data)[head * lse.strides[0] + row * lse.strides[1]] =
        sum == 0.0F ? kNoKeyMax : max_[state] + std::log(sum);
  }

  template <class Out>
  void write_values(const float* from, float sum, Out* to) const {
    for (int d = 0; d < shape_.head_dim; ++d) to[d] = from_float<Out>(sum == 0.0F ? 0.0F : from[d] / sum);
  }

  KernelShape shape_;
  WorkerTeam& team_;
  TensorView q_;
  std::vector<float> out_;  // [q_heads, q_rows, dim], not normalised
  std::vector<float> max_;  // [q_heads, q_rows], natural base
  std::vector<float> sum_;
  std::vector<Scratch> scratch_;  // one per worker
};

template <class T>
std::unique_ptr<BlockKernel> make(const KernelShape& shape, WorkerTeam& team) {
  return std::make_unique<ScalarKernel<T>>(shape, team);
}

}  // namespace

std::unique_ptr<BlockKernel> make_scalar_kernel(const KernelShape& shape, WorkerTeam& team) {
  if (shape.dtype == DType::bfloat16) return make<bf16>(shape, team);
  if (shape.dtype == DType::float16) return make<fp16>(shape, team);
  return make<float>(shape, team);
}

}  // namespace ringcomm::inline v0::attention::host
