// SPDX-License-Identifier: Apache-2.0
// Replicated queries: each rank's partial over its own keys, merged by softmax_all_reduce; nothing rotates.
#include "attention/ring_attention_impl.hpp"
#include "core/try.hpp"

namespace ringcomm::inline v0 {
namespace {

template <class T>
void round_rows(const TensorView& source, const TensorView& target) {
  const auto* from = static_cast<const float*>(source.data);
  for (std::int64_t row = 0; row < target.shape[0]; ++row) {
    for (std::int64_t head = 0; head < target.shape[1]; ++head) {
      T* to = static_cast<T*>(target.data) + row * target.strides[0] + head * target.strides[1];
      for (std::int64_t d = 0; d < target.shape[2]; ++d) to[d] = from_float<T>(*from++);
    }
  }
}

/// The one rounding to the caller's type, from contiguous [tokens, heads, dim] fp32.
void round_to(const TensorView& source, const TensorView& target) {
  if (target.dtype == DType::bfloat16) return round_rows<bf16>(source, target);
  if (target.dtype == DType::float16) return round_rows<fp16>(source, target);
  round_rows<float>(source, target);
}

/// A partial's rows are (token, head) pairs; lse is [heads, tokens].
TensorView as_lse(const SoftmaxPartial& partial, std::int64_t heads, std::int64_t tokens) {
  TensorView lse = TensorView::contiguous(partial.statistic.data, DType::float32, {heads, tokens});
  lse.strides = {1, heads};
  return lse;
}

void copy_lse(const TensorView& source, const TensorView& target) {
  for (std::int64_t head = 0; head < target.shape[0]; ++head) {
    for (std::int64_t row = 0; row < target.shape[1]; ++row) {
      static_cast<float*>(target.data)[head * target.strides[0] + row * target.strides[1]] =
          static_cast<const float*>(source.data)[head * source.strides[0] + row * source.strides[1]];
    }
  }
}

}  // namespace

Status RingAttention::Impl::forward_replicated(const attention::Tensors& tensors) {
  const TensorView out =
      TensorView::contiguous(partial.out.data, DType::float32, {spec.tokens, spec.q_heads, spec.head_dim});
  const TensorView lse = as_lse(partial, spec.q_heads, spec.tokens);
  begin(tensors.q);
  accumulate(channel.rank(), 0, tensors.k, tensors.v);
  finish(out, lse);
  RINGCOMM_TRY_ASSIGN(const Work merged,
                      softmax_all_reduce(channel, partial, partial, {.call = {.deadline = spec.deadline}}));
  RINGCOMM_TRY(merged.status());
  round_to(out, tensors.out);
  copy_lse(lse, tensors.lse);
  return {};
}

}  // namespace ringcomm::inline v0
