// SPDX-License-Identifier: Apache-2.0
// Where attention's tensors lie, and what a caller's own must look like.
#include <algorithm>
#include <string_view>

#include "attention/ring_attention_impl.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::attention {
namespace {

/// Tensors start on their own cache line.
constexpr std::size_t kAlignment = 64;

constexpr std::string_view kRingAttention = "ring attention";

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Result<OwnTensors> allocate_tensors(Communicator& comm, const AttentionSpec& spec, std::int64_t q_rows,
                                    std::int64_t kv_rows) {
  const auto view = [&](void* data, std::int64_t rows, int heads) {
    return TensorView::contiguous(data, spec.dtype, {rows, heads, spec.head_dim});
  };
  OwnTensors own;
  const std::size_t k_bytes = view(nullptr, kv_rows, spec.kv_heads).bytes();
  const std::size_t q_bytes = view(nullptr, q_rows, spec.q_heads).bytes();
  RINGCOMM_TRY_ASSIGN(own.kv, comm.allocate(std::max<std::size_t>(2 * k_bytes, kAlignment)));
  const std::size_t lse_bytes = static_cast<std::size_t>(q_rows * spec.q_heads) * sizeof(float);
  RINGCOMM_TRY_ASSIGN(own.local, Segment::create({.bytes = 2 * aligned(q_bytes) + lse_bytes,
                                                  .kind = SegmentKind::local,
                                                  .memory_node = comm.placement().memory_node,
                                                  .name = "ringcomm-attention"}));
  own.views.k = view(own.kv.data(), kv_rows, spec.kv_heads);
  own.views.v = view(own.kv.data() + k_bytes, kv_rows, spec.kv_heads);
  std::byte* local = own.local->data();
  own.views.q = view(local, q_rows, spec.q_heads);
  own.views.out = view(local + aligned(q_bytes), q_rows, spec.q_heads);
  own.views.lse =
      TensorView::contiguous(local + 2 * aligned(q_bytes), DType::float32, {spec.q_heads, q_rows});
  return own;
}

Status check_tensor(std::string_view name, const TensorView& given, const TensorView& expected,
                    std::string_view who) {
  RINGCOMM_TRY(validate(given, name));
  if (given.axes != expected.axes) {
    return Status::invalid_argument(
        concat(name, " has ", given.axes, " axes (", who, " needs ", expected.axes, ")"));
  }
  if (given.dtype != expected.dtype) {
    return Status::invalid_argument(concat(name, " is ", ringcomm::name_of(given.dtype), " (", who,
                                           " was created for ", ringcomm::name_of(expected.dtype), ")"));
  }
  for (int axis = 0; axis < given.axes; ++axis) {
    const auto index = static_cast<std::size_t>(axis);
    if (given.shape[index] == expected.shape[index]) continue;
    return Status::invalid_argument(concat(name, " has extent ", given.shape[index], " on axis ", axis, " (",
                                           who, " was created for ", expected.shape[index], ")"));
  }
  if (given.device.kind != DeviceKind::host) {
    return Status::not_available(concat(name, " is not in host memory (no other device is supported)"));
  }
  const auto last = static_cast<std::size_t>(given.axes - 1);
  if (given.strides[last] != 1 && given.shape[last] > 1) {
    return Status::invalid_argument(
        concat(name, " has stride ", given.strides[last], " on its last axis (it must be contiguous there)"));
  }
  return {};
}

Status check_tensors(const Tensors& given, const Tensors& expected) {
  RINGCOMM_TRY(check_tensor("q", given.q, expected.q, kRingAttention));
  RINGCOMM_TRY(check_tensor("k", given.k, expected.k, kRingAttention));
  RINGCOMM_TRY(check_tensor("v", given.v, expected.v, kRingAttention));
  RINGCOMM_TRY(check_tensor("out", given.out, expected.out, kRingAttention));
  return check_tensor("lse", given.lse, expected.lse, kRingAttention);
}

bool are_neighbours(const TensorView& k, const TensorView& v) {
  const auto* k_end = static_cast<const std::byte*>(k.data) + k.bytes();
  return k.is_contiguous() && v.is_contiguous() && static_cast<const std::byte*>(v.data) == k_end;
}

}  // namespace ringcomm::inline v0::attention
