// SPDX-License-Identifier: Apache-2.0
#include "attention_limits.hpp"

#include <cstring>
#include <memory>

#include "try.hpp"

namespace ringcomm::perf {
namespace {

/// A partial's rows are (token, head) pairs.
TensorView as_lse(const TensorView& statistic, std::int64_t heads, std::int64_t rows) {
  TensorView lse = TensorView::contiguous(statistic.data, DType::float32, {heads, rows});
  lse.strides = {1, heads};
  return lse;
}

}  // namespace

Result<AttentionLimits> AttentionLimits::create(const RingAttention& ring, int ranks, int rank,
                                                const Placement& placement) {
  const AttentionSpec& spec = ring.spec();
  const std::int64_t rows = ring.q().shape[0];
  PERF_TRY_ASSIGN(LocalAttention attention, LocalAttention::create({.q_rows = rows,
                                                                    .q_heads = spec.q_heads,
                                                                    .kv_heads = spec.kv_heads,
                                                                    .head_dim = spec.head_dim,
                                                                    .dtype = spec.dtype,
                                                                    .workers = spec.workers,
                                                                    .placement = placement}));
  AttentionLimits limits(std::move(attention));
  limits.shape_ = {spec.q_heads, spec.kv_heads, spec.head_dim, spec.dtype};
  limits.q_ = ring.q();
  limits.k_ = limits.take(spec.dtype, {spec.tokens, spec.kv_heads, spec.head_dim});
  limits.v_ = limits.take(spec.dtype, {spec.tokens, spec.kv_heads, spec.head_dim});
  limits.out_ = limits.take(spec.dtype, {rows, spec.q_heads, spec.head_dim});
  limits.lse_ = limits.take(DType::float32, {spec.q_heads, rows});
  const std::vector<std::int64_t> positions = positions_from(0, spec.tokens);
  fill_attention(limits.k_, positions, AttentionTensor::k);
  fill_attention(limits.v_, positions, AttentionTensor::v);
  limits.pieces_ = pieces_of_all_keys(ring.shards(), spec.mask, rank);
  limits.inputs_[0] = {limits.k_, limits.v_};
  for (int source = 0; source < ranks; ++source) limits.add_shard(ring.shards(), spec.mask, rank, source);
  const std::int64_t partial_rows = rows * spec.q_heads;
  limits.merged_.out = TensorView::contiguous(limits.out_.data, spec.dtype, {partial_rows, spec.head_dim});
  limits.merged_.statistic = limits.take(DType::float32, {partial_rows});
  for (const int local : {0, 1}) {
    for (const TensorView& input : limits.inputs_[local]) {
      const auto* bytes = static_cast<const std::byte*>(input.data);
      limits.pristine_[local].emplace_back(bytes, bytes + input.bytes());
    }
  }
  return limits;
}

TensorView AttentionLimits::take(DType dtype, std::initializer_list<std::int64_t> shape) {
  constexpr std::size_t kLine = 64;
  TensorView view = TensorView::contiguous(nullptr, dtype, shape);
  std::size_t space = view.bytes() + kLine;
  memory_.emplace_back(space);
  view.data = memory_.back().data();
  std::align(kLine, view.bytes(), view.data, space);
  return view;
}

void AttentionLimits::add_shard(const ShardMap& map, Mask mask, int rank, int source) {
  const std::int64_t rows = q_.shape[0];
  Shard shard;
  shard.k = take(shape_.dtype, {map.rows_of(source), shape_.kv_heads, shape_.head_dim});
  shard.v = take(shape_.dtype, {map.rows_of(source), shape_.kv_heads, shape_.head_dim});
  fill_attention(shard.k, map.positions(source), AttentionTensor::k);
  fill_attention(shard.v, map.positions(source), AttentionTensor::v);
  shard.pieces = pieces_of_shard(map, mask, rank, source);
  shard.partial.out = take(DType::float32, {rows * shape_.q_heads, shape_.head_dim});
  shard.partial.statistic = take(DType::float32, {rows * shape_.q_heads});
  shard.out =
      TensorView::contiguous(shard.partial.out.data, DType::float32, {rows, shape_.q_heads, shape_.head_dim});
  shard.lse = as_lse(shard.partial.statistic, shape_.q_heads, rows);
  inputs_[1].push_back(shard.k);
  inputs_[1].push_back(shard.v);
  partials_.push_back(shard.partial);
  shards_.push_back(std::move(shard));
}

void AttentionLimits::rewrite(Local local) {
  const int which = local == Local::one_pass ? 0 : 1;
  for (std::size_t i = 0; i < inputs_[which].size(); ++i) {
    if (!pristine_[which][i].empty())
      std::memcpy(inputs_[which][i].data, pristine_[which][i].data(), pristine_[which][i].size());
  }
}

Status AttentionLimits::run(Local local) {
  return local == Local::one_pass ? run_one_pass() : run_partials();
}

Status AttentionLimits::run_one_pass() {
  PERF_TRY(attention_.begin(q_));
  PERF_TRY(add_pieces(attention_, pieces_, k_, v_));
  return attention_.finish(out_, lse_);
}

Status AttentionLimits::run_partials() {
  for (const Shard& shard : shards_) {
    PERF_TRY(attention_.begin(q_));
    PERF_TRY(add_pieces(attention_, shard.pieces, shard.k, shard.v));
    PERF_TRY(attention_.finish(shard.out, shard.lse));
  }
  return merge_softmax_partials(merged_, partials_);
}

}  // namespace ringcomm::perf
