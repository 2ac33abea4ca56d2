// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/attention/local_attention.hpp"

#include <algorithm>
#include <cmath>

#include "attention/block_kernel.hpp"
#include "attention/ring_attention_impl.hpp"
#include "comm/guard.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {

struct LocalAttention::Impl {
  LocalAttentionSpec spec;
  std::unique_ptr<WorkerTeam> team;
  std::unique_ptr<attention::BlockKernel> kernel;
  bool has_begun = false;

  /// What a tensor of these rows and heads must look like.
  TensorView shape(std::int64_t rows, int heads) const {
    return TensorView::contiguous(nullptr, spec.dtype, {rows, heads, spec.head_dim});
  }
  Status check(std::string_view name, const TensorView& given, const TensorView& expected) const {
    return attention::check_tensor(name, given, expected, "local attention");
  }
};

Result<LocalAttention> LocalAttention::create(const LocalAttentionSpec& spec) {
  const auto make = [&]() -> Result<LocalAttention> {
    auto impl = std::make_unique<Impl>();
    impl->spec = spec;
    const float scale = spec.scale != 0.0F ? spec.scale : 1.0F / std::sqrt(static_cast<float>(spec.head_dim));
    const attention::KernelShape shape{.q_rows = spec.q_rows,
                                       .q_heads = spec.q_heads,
                                       .kv_heads = spec.kv_heads,
                                       .head_dim = spec.head_dim,
                                       .dtype = spec.dtype,
                                       .scale = scale,
                                       .peers_read_out = spec.peers_read_out};
    RINGCOMM_TRY_ASSIGN(const CpuLevel level, chosen_cpu_level());
    RINGCOMM_TRY_ASSIGN(impl->team, WorkerTeam::create(spec.workers, spec.placement));
    RINGCOMM_TRY_ASSIGN(impl->kernel, attention::BlockKernel::create(shape, level, *impl->team));
    return LocalAttention(std::move(impl));
  };
  return comm::guard("local attention", make);
}

Status LocalAttention::begin(const TensorView& q) {
  RINGCOMM_TRY(impl_->check("q", q, impl_->shape(impl_->spec.q_rows, impl_->spec.q_heads)));
  impl_->kernel->begin(q);
  impl_->has_begun = true;
  return {};
}

Status LocalAttention::add(const TensorView& k, const TensorView& v) {
  return add({.q_first = 0, .q_count = impl_->spec.q_rows, .visible = {}}, k, v);
}

Status LocalAttention::add(const LocalRange& range, const TensorView& k, const TensorView& v) {
  if (!impl_->has_begun) return Status::invalid_argument("local attention: keys were added before begin()");
  const std::int64_t rows = impl_->spec.q_rows;
  if (range.q_first < 0 || range.q_count < 0 || range.q_first > rows - range.q_count) {
    return Status::invalid_argument(concat("local attention: query rows ", range.q_first, " and ",
                                           range.q_count, " from there (it was created for ", rows, ")"));
  }
  const TensorView expected = impl_->shape(k.shape[0], impl_->spec.kv_heads);
  RINGCOMM_TRY(impl_->check("k", k, expected));
  RINGCOMM_TRY(impl_->check("v", v, expected));
  constexpr std::int64_t kFar = VisibleBand::kInfinite;
  const VisibleBand visible{.lower = std::clamp(range.visible.lower, -kFar, kFar),
                            .upper = std::clamp(range.visible.upper, -kFar, kFar)};
  const Rectangle seen = classify(visible, 0, range.q_count, 0, k.shape[0]);
  if (seen.visibility == Visibility::none) return {};
  impl_->kernel->accumulate({.q_first = range.q_first,
                             .q_count = range.q_count,
                             .local = visible,
                             .is_full = seen.visibility == Visibility::full},
                            k, v);
  return {};
}

Status LocalAttention::finish(const TensorView& out, const TensorView& lse) {
  if (!impl_->has_begun) return Status::invalid_argument("local attention: finish() before begin()");
  const LocalAttentionSpec& spec = impl_->spec;
  TensorView expected = impl_->shape(spec.q_rows, spec.q_heads);
  if (out.dtype == DType::float32) expected.dtype = DType::float32;
  RINGCOMM_TRY(impl_->check("out", out, expected));
  // Any strides: the last axis is not looked at.
  TensorView lse_rows = lse;
  if (lse_rows.axes == 2) lse_rows.strides[1] = 1;
  RINGCOMM_TRY(validate(lse, "lse"));
  RINGCOMM_TRY(impl_->check("lse", lse_rows,
                            TensorView::contiguous(nullptr, DType::float32, {spec.q_heads, spec.q_rows})));
  impl_->kernel->finish(out, lse);
  return {};
}

CpuLevel LocalAttention::level() const { return impl_->kernel->level(); }

LocalAttention::LocalAttention(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LocalAttention::LocalAttention(LocalAttention&&) noexcept = default;
LocalAttention& LocalAttention::operator=(LocalAttention&&) noexcept = default;
LocalAttention::~LocalAttention() = default;

}  // namespace ringcomm::inline v0
