// SPDX-License-Identifier: Apache-2.0
#include "plan/rules/exchange_slice.hpp"

namespace ringcomm::inline v0::plan {

void ExchangeSlice::give(int step, int peer, std::int32_t slot, Range range) {
  Op op{.kind = is_direct() ? OpKind::offer : OpKind::send,
        .step = step,
        .peer = peer,
        .block = rank_,
        .slot = slot,
        .group = is_direct() ? kNone : step,
        .offset = range.offset,
        .bytes = range.bytes};
  ops_.push_back(op);
  if (!is_direct()) return;
  op.kind = OpKind::reclaim;
  op.slot = kNone;
  reclaims_.push_back(op);
}

void ExchangeSlice::accept(int step, int peer, std::int32_t slot, Range range) {
  Op op{.kind = OpKind::take, .step = step, .peer = peer, .block = peer, .bytes = range.bytes};
  if (!is_direct()) {
    op.kind = OpKind::recv;
    op.slot = slot;
    op.group = step;
    op.offset = range.offset;
  }
  ops_.push_back(op);
}

void ExchangeSlice::give_back(int step, int peer, std::uint64_t bytes) {
  ops_.push_back({.kind = OpKind::release, .step = step, .peer = peer, .block = peer, .bytes = bytes});
}

}  // namespace ringcomm::inline v0::plan
