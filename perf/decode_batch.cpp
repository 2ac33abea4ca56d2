// SPDX-License-Identifier: Apache-2.0
#include "decode_batch.hpp"

#include <memory>

#include "try.hpp"

namespace ringcomm::perf {

Result<DecodeBatch> DecodeBatch::create(const Spec& spec) {
  const AttentionShape& shape = spec.shape;
  // The query heads that share a KV head are the rows of one small query tile.
  PERF_TRY_ASSIGN(LocalAttention attention,
                  LocalAttention::create({.q_rows = shape.q_heads / shape.kv_heads,
                                          .q_heads = shape.kv_heads,
                                          .kv_heads = shape.kv_heads,
                                          .head_dim = static_cast<int>(shape.head_dim),
                                          .dtype = shape.dtype,
                                          .peers_read_out = spec.peers_read_out,
                                          .placement = spec.placement}));
  DecodeBatch batch(spec, std::move(attention));
  batch.fill();
  return batch;
}

void DecodeBatch::fill() {
  constexpr std::size_t kLine = 64;
  const AttentionShape& shape = spec_.shape;
  const std::int64_t keys = shard_tokens();
  const TensorView q = TensorView::contiguous(nullptr, shape.dtype, {1, shape.q_heads, shape.head_dim});
  const TensorView kv = TensorView::contiguous(nullptr, shape.dtype, {keys, shape.kv_heads, shape.head_dim});
  std::size_t space = static_cast<std::size_t>(spec_.batch) * (q.bytes() + 2 * kv.bytes()) + kLine;
  memory_.resize(space);
  void* start = memory_.data();
  std::align(kLine, space - kLine, start, space);
  auto* at = static_cast<std::byte*>(start);
  const auto take = [&at](TensorView view) {
    view.data = at;
    at += view.bytes();
    return view;
  };
  for (std::int64_t index = 0; index < spec_.batch; ++index) {
    Sequence sequence{.q = take(q), .k = take(kv), .v = take(kv)};
    fill_attention(sequence.q, {index}, AttentionTensor::q);
    const auto tokens = positions_from(index * spec_.tokens + first_token(), keys);
    fill_attention(sequence.k, tokens, AttentionTensor::k);
    fill_attention(sequence.v, tokens, AttentionTensor::v);
    const std::int64_t group = shape.q_heads / shape.kv_heads;
    sequence.q.shape = {group, shape.kv_heads, shape.head_dim};
    sequence.q.strides = {shape.head_dim, group * shape.head_dim, 1};
    sequences_.push_back(sequence);
  }
}

Status DecodeBatch::attend(float* out, float* lse) {
  const AttentionShape& shape = spec_.shape;
  const std::int64_t group = shape.q_heads / shape.kv_heads;
  for (const Sequence& sequence : sequences_) {
    TensorView out_view =
        TensorView::contiguous(out, DType::float32, {group, shape.kv_heads, shape.head_dim});
    out_view.strides = {shape.head_dim, group * shape.head_dim, 1};
    PERF_TRY(attention_.begin(sequence.q));
    PERF_TRY(attention_.add(sequence.k, sequence.v));
    PERF_TRY(
        attention_.finish(out_view, TensorView::contiguous(lse, DType::float32, {shape.kv_heads, group})));
    out += shape.q_heads * shape.head_dim;
    lse += shape.q_heads;
  }
  return {};
}

std::int64_t DecodeBatch::count_wrong(const float* out) const {
  const AttentionShape& shape = spec_.shape;
  std::int64_t wrong = 0;
  for (const std::int64_t index : sample_rows(spec_.batch)) {
    auto* rows = const_cast<float*>(out) + index * shape.q_heads * shape.head_dim;
    const TensorView view = TensorView::contiguous(rows, DType::float32, {1, shape.q_heads, shape.head_dim});
    for (const int head : sample_heads(shape.q_heads))
      wrong += count_wrong_elements(shape, {index, index * spec_.tokens, spec_.tokens, head}, view, 0);
  }
  return wrong;
}

}  // namespace ringcomm::perf
