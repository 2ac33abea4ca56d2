// SPDX-License-Identifier: Apache-2.0
// What a user without a fused kernel writes: attention of one head of 128, bf16, full, on one thread, as
// oneDNN matmul, softmax, matmul, over tiles of queries whose scores stay in the caches. K and V are
// reordered to oneDNN's own layout once a pass. Knows nothing of ringcomm; serves perf/compare's samples ("go
// TOKENS ITERATIONS"). The OpenMP pool must be one thread: OMP_NUM_THREADS=1.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "../sample_request.hpp"
#include "../stats.hpp"
#include "bind.hpp"

#if defined(__AVX512F__) && defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace ringcomm::perf::peers {
namespace {

using dnnl::matmul;
using dnnl::memory;
using Bf16 = std::uint16_t;
using Data = memory::data_type;
using Tag = memory::format_tag;

constexpr memory::dim kDim = 128;

float widen(Bf16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16); }

/// To nearest, ties to even; no NaN comes here.
Bf16 narrow(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<Bf16>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

#if defined(__AVX512F__) && defined(__AVX512BF16__)
constexpr bool kHasVectors = true;

/// 2^x for x <= 0, to about 2e-6.
__m512 exp2_of(__m512 x) {
  x = _mm512_max_ps(x, _mm512_set1_ps(-126));
  const __m512 whole = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const __m512 f = _mm512_sub_ps(x, whole);
  __m512 p = _mm512_set1_ps(0.00133336F);
  for (const float coefficient : {0.00961813F, 0.05550411F, 0.24022651F, 0.69314718F, 1.0F})
    p = _mm512_fmadd_ps(p, f, _mm512_set1_ps(coefficient));
  return _mm512_scalef_ps(p, whole);
}

/// Weights of one row of scores (whole vectors of keys), not yet divided by their sum, which is returned.
float softmax_row(const float* scores, Bf16* weights, memory::dim keys, float scale) {
  __m512 largest[4], sum[4];
  std::fill_n(largest, 4, _mm512_set1_ps(-INFINITY));
  std::fill_n(sum, 4, _mm512_setzero_ps());
  for (memory::dim j = 0; j < keys; j += 64)
    for (int i = 0; i < 4; ++i) largest[i] = _mm512_max_ps(largest[i], _mm512_loadu_ps(scores + j + 16 * i));
  const float top = _mm512_reduce_max_ps(
      _mm512_max_ps(_mm512_max_ps(largest[0], largest[1]), _mm512_max_ps(largest[2], largest[3])));
  const __m512 factor = _mm512_set1_ps(scale), shift = _mm512_set1_ps(-top * scale);
  for (memory::dim j = 0; j < keys; j += 64) {
    for (int i = 0; i < 4; ++i) {
      const __m512 weight = exp2_of(_mm512_fmadd_ps(_mm512_loadu_ps(scores + j + 16 * i), factor, shift));
      sum[i] = _mm512_add_ps(sum[i], weight);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(weights + j + 16 * i),
                          std::bit_cast<__m256i>(_mm512_cvtneps_pbh(weight)));
    }
  }
  return _mm512_reduce_add_ps(_mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3])));
}
#else
constexpr bool kHasVectors = false;
float softmax_row(const float*, Bf16*, memory::dim, float) { return 0; }
#endif

class Attention {
 public:
  Attention(memory::dim tokens, memory::dim tile) : tokens_(tokens), tile_(std::min(tokens, tile)) {
    for (auto* input : {&q_, &k_, &v_}) {
      input->resize(static_cast<std::size_t>(tokens * kDim));
      for (Bf16& value : *input) value = narrow(next());
    }
    out_.resize(q_.size());
    scores_.resize(static_cast<std::size_t>(tile_ * tokens));
    weights_.resize(scores_.size());
    sums_.resize(static_cast<std::size_t>(tile_));
    product_.resize(static_cast<std::size_t>(tile_ * kDim));
    for (memory::dim rows : {tile_, tokens_ % tile_}) {
      if (rows != 0) tiles_.push_back(plan(rows));
    }
  }

  void run() {
    k_plain_ = {{{kDim, tokens_}, Data::bf16, Tag::ba}, engine_, k_.data()};
    v_plain_ = {{{tokens_, kDim}, Data::bf16, Tag::ab}, engine_, v_.data()};
    for (Tile& tile : tiles_) {
      dnnl::reorder(k_plain_, tile.k).execute(stream_, k_plain_, tile.k);
      dnnl::reorder(v_plain_, tile.v).execute(stream_, v_plain_, tile.v);
    }
    for (memory::dim first = 0; first < tokens_; first += tile_) run_tile(first);
    stream_.wait();
  }

  /// Of eight rows, elements further from softmax in double than bf16 rounding explains.
  std::int64_t count_wrong() const {
    std::int64_t wrong = 0;
    for (int i = 0; i < 8; ++i) wrong += wrong_in(i * (tokens_ - 1) / 7);
    return wrong;
  }

 private:
  struct Tile {
    memory::dim rows;
    matmul scores, product;
    memory k, v;
  };

  Tile plan(memory::dim rows) {
    const memory::desc q({rows, kDim}, Data::bf16, Tag::ab), k({kDim, tokens_}, Data::bf16, Tag::any);
    const memory::desc s({rows, tokens_}, Data::f32, Tag::ab), p({rows, tokens_}, Data::bf16, Tag::ab);
    const memory::desc v({tokens_, kDim}, Data::bf16, Tag::any), o({rows, kDim}, Data::f32, Tag::ab);
    const matmul::primitive_desc first(matmul::desc(q, k, s), engine_),
        second(matmul::desc(p, v, o), engine_);
    return {rows, matmul(first), matmul(second), memory(first.weights_desc(), engine_),
            memory(second.weights_desc(), engine_)};
  }

  void run_tile(memory::dim first) {
    Tile& tile = tokens_ - first >= tile_ ? tiles_.front() : tiles_.back();
    const memory q({{tile.rows, kDim}, Data::bf16, Tag::ab}, engine_, q_.data() + first * kDim);
    const memory s({{tile.rows, tokens_}, Data::f32, Tag::ab}, engine_, scores_.data());
    const memory p({{tile.rows, tokens_}, Data::bf16, Tag::ab}, engine_, weights_.data());
    const memory o({{tile.rows, kDim}, Data::f32, Tag::ab}, engine_, product_.data());
    tile.scores.execute(stream_, {{DNNL_ARG_SRC, q}, {DNNL_ARG_WEIGHTS, tile.k}, {DNNL_ARG_DST, s}});
    const float scale = std::sqrt(1.0F / kDim) * 1.44269504F;
    for (memory::dim row = 0; row < tile.rows; ++row)
      sums_[static_cast<std::size_t>(row)] =
          softmax_row(scores_.data() + row * tokens_, weights_.data() + row * tokens_, tokens_, scale);
    tile.product.execute(stream_, {{DNNL_ARG_SRC, p}, {DNNL_ARG_WEIGHTS, tile.v}, {DNNL_ARG_DST, o}});
    for (memory::dim row = 0; row < tile.rows; ++row) {
      const float factor = 1 / sums_[static_cast<std::size_t>(row)];
      for (memory::dim d = 0; d < kDim; ++d)
        out_[static_cast<std::size_t>((first + row) * kDim + d)] =
            narrow(product_[static_cast<std::size_t>(row * kDim + d)] * factor);
    }
  }

  std::int64_t wrong_in(memory::dim row) const {
    const auto at = [](const std::vector<Bf16>& from, memory::dim i, memory::dim d) {
      return static_cast<double>(widen(from[static_cast<std::size_t>(i * kDim + d)]));
    };
    std::vector<double> expected(kDim, 0.0);
    double sum = 0;
    for (memory::dim j = 0; j < tokens_; ++j) {
      double x = 0;
      for (memory::dim d = 0; d < kDim; ++d) x += at(q_, row, d) * at(k_, j, d);
      const double weight = std::exp(x / std::sqrt(static_cast<double>(kDim)));
      sum += weight;
      for (memory::dim d = 0; d < kDim; ++d) expected[static_cast<std::size_t>(d)] += weight * at(v_, j, d);
    }
    std::int64_t wrong = 0;
    for (memory::dim d = 0; d < kDim; ++d)
      wrong += std::abs(at(out_, row, d) - expected[static_cast<std::size_t>(d)] / sum) <= 8e-3 ? 0 : 1;
    return wrong;
  }

  /// In [-1, 1).
  float next() {
    seed_ = seed_ * 0x5851f42d4c957f2dU + 0x14057b7ef767814fU;
    return static_cast<float>(static_cast<std::int32_t>(seed_ >> 32)) * 0x1p-31F;
  }

  memory::dim tokens_, tile_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Bf16> q_, k_, v_, out_, weights_;
  std::vector<float> scores_, sums_, product_;
  std::vector<Tile> tiles_;
  memory k_plain_, v_plain_;
  std::uint64_t seed_ = 1;
};

double timed(Attention& attention) {
  const auto begun = std::chrono::steady_clock::now();
  attention.run();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count();
}

/// The tile that is fastest here.
memory::dim best_tile(memory::dim tokens) {
  memory::dim best = 0;
  double best_us = INFINITY;
  for (const memory::dim tile : {16, 32, 64, 128, 256}) {
    Attention attention(tokens, tile);
    timed(attention);
    const double us = timed(attention);
    if (us < best_us) best_us = us, best = tile;
  }
  return best;
}

int serve() {
  for (;;) {
    const SampleRequest request = read_request(stdin);
    if (request.iterations <= 0) return 0;
    if (!kHasVectors || request.bytes % 64 != 0) {
      std::fputs("onednn-attention: built for a CPU without AVX-512 BF16, or tokens are no multiple of 64\n",
                 stderr);
      return 5;
    }
    static std::unordered_map<memory::dim, memory::dim> tiles;
    memory::dim& tile = tiles[request.bytes];
    if (tile == 0) tile = best_tile(request.bytes);
    Attention attention(request.bytes, tile);
    timed(attention);
    std::vector<double> us;
    for (int i = 0; i < request.iterations; ++i) us.push_back(timed(attention));
    const Stats stats = stats_of(us);
    const double flop = 4.0 * static_cast<double>(request.bytes) * static_cast<double>(request.bytes) * kDim;
    const dnnl_version_t* const version = dnnl_version();
    std::printf(
        "{\"us\": %.2f, \"gflops\": %.2f, \"wrong\": %lld, \"tile\": %lld, \"library\": \"oneDNN "
        "%d.%d.%d\"}\n",
        stats.p50, flop / stats.p50 * 1e-3, static_cast<long long>(attention.count_wrong()),
        static_cast<long long>(tile), version->major, version->minor, version->patch);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace ringcomm::perf::peers

int main() {
  ringcomm::perf::peers::take_priority();
  try {
    return ringcomm::perf::peers::serve();
  } catch (const dnnl::error& error) {
    std::fprintf(stderr, "onednn-attention: oneDNN says %s\n", error.what());
    return 5;
  }
}
