// SPDX-License-Identifier: Apache-2.0
// One forward pass: walks the rotation (or the gathered blocks) and hands each block's tiles to the kernel.
#include "attention/ring_attention_impl.hpp"
#include "collectives/pack.hpp"
#include "core/try.hpp"
#include "ringcomm/core/call_site.hpp"

namespace ringcomm::inline v0 {

using attention::KernelClock;
using attention::Tensors;

void RingAttention::Impl::begin(const TensorView& q) {
  const KernelClock clock(kernel_ns);
  kernel->begin(q);
}

void RingAttention::Impl::accumulate(int source, std::int64_t row_first, const TensorView& k,
                                     const TensorView& v) {
  const KernelClock clock(kernel_ns);
  attention::run_tiles(*kernel, work[static_cast<std::size_t>(source)], row_first, k, v);
}

void RingAttention::Impl::finish(const TensorView& out, const TensorView& lse) {
  const KernelClock clock(kernel_ns);
  kernel->finish(out, lse);
}

Status RingAttention::Impl::forward_ring(const Tensors& tensors) {
  if (Status bound = bind_rotation(tensors.k, tensors.v); !bound.is_ok()) return channel.fail(bound);
  begin(tensors.q);
  RINGCOMM_TRY(rotation->run([&](const RotationStep& step) {
    for (const RotationPart& part : step.parts()) accumulate(part.source, part.row_first, part.k, part.v);
  }));
  finish(tensors.out, tensors.lse);
  return {};
}

Result<TensorView> RingAttention::Impl::kv_message(const TensorView& k, const TensorView& v) {
  const std::size_t bytes = k.bytes() + v.bytes();
  const auto elements = static_cast<std::int64_t>(bytes / bytes_of(spec.dtype));
  if (attention::are_neighbours(k, v)) return TensorView::contiguous(k.data, spec.dtype, {elements});
  if (packed.bytes() < bytes) {
    RINGCOMM_TRY_ASSIGN(packed, channel.allocate(bytes));
  }
  collectives::pack(k, packed.data());
  collectives::pack(v, packed.data() + k.bytes());
  channel.count_packed(bytes);
  return TensorView::contiguous(packed.data(), spec.dtype, {elements});
}

Status RingAttention::Impl::forward_gathered(const Tensors& tensors) {
  Result<TensorView> message = kv_message(tensors.k, tensors.v);
  if (!message.is_ok()) return channel.fail(message.status());
  const auto row_elements = static_cast<std::int64_t>(2) * spec.kv_heads * spec.head_dim;
  const TensorView all = TensorView::contiguous(gathered->data(), spec.dtype, {spec.tokens * row_elements});
  RINGCOMM_TRY_ASSIGN(const Work done, all_gather(channel, message.value(), all, gathered_counts,
                                                  {.deadline = spec.deadline}));
  RINGCOMM_TRY(done.status());
  begin(tensors.q);
  std::byte* block = gathered->data();
  for (int source = 0; source < channel.size(); ++source) {
    const std::int64_t rows = shards.rows_of(source);
    const auto view = [&](std::byte* data) {
      return TensorView::contiguous(data, spec.dtype, {rows, spec.kv_heads, spec.head_dim});
    };
    const TensorView k = view(block);
    accumulate(source, 0, k, view(block + k.bytes()));
    block += 2 * k.bytes();
  }
  finish(tensors.out, tensors.lse);
  return {};
}

Status RingAttention::Impl::forward(const Tensors& tensors) {
  const CallSite::Default site("RingAttention::forward");
  const std::int64_t start_ns = now_ns();
  kernel_ns = 0;
  report = {.level = kernel->level()};
  if (spec.queries == QueryPlacement::replicated) {
    RINGCOMM_TRY(forward_replicated(tensors));
  } else if (spec.strategy == AttentionStrategy::all_gather) {
    RINGCOMM_TRY(forward_gathered(tensors));
  } else {
    RINGCOMM_TRY(forward_ring(tensors));
  }
  constexpr double kSeconds = 1e-9;
  report.seconds = static_cast<double>(now_ns() - start_ns) * kSeconds;
  report.wait_seconds = report.seconds - static_cast<double>(kernel_ns) * kSeconds;
  report.visible_pairs = visible_pairs;
  report.flop = 4.0 * spec.head_dim * spec.q_heads * static_cast<double>(visible_pairs);
  report.bytes_copied = bytes_copied;
  return {};
}

Status RingAttention::forward() { return impl_->forward(impl_->own.views); }

Status RingAttention::forward(const TensorView& q, const TensorView& k, const TensorView& v,
                              const TensorView& out, const TensorView& lse) {
  const Tensors given{.q = q, .k = k, .v = v, .out = out, .lse = lse};
  RINGCOMM_TRY(attention::check_tensors(given, impl_->own.views));
  return impl_->forward(given);
}

Status RingAttention::rehearse() {
  const Tensors& own = impl_->own.views;
  impl_->kernel->begin(own.q);
  for (const attention::SourceWork& work : impl_->work)
    attention::rehearse_tiles(*impl_->kernel, work, own.k, own.v);
  impl_->kernel->finish(own.out, own.lse);
  return {};
}

}  // namespace ringcomm::inline v0
