// SPDX-License-Identifier: Apache-2.0
#include "plan/rules/direct_read.hpp"

#include <utility>

#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::plan {

void DirectReads::offer(int step, int reader, std::uint64_t bytes) {
  ops_.push_back(
      {.kind = OpKind::offer, .step = step, .peer = reader, .block = rank_, .slot = 0, .bytes = bytes});
}

void DirectReads::consume_own(std::uint64_t bytes, std::uint64_t place) {
  ops_.push_back({.kind = OpKind::compute,
                  .block = rank_,
                  .slot = 0,
                  .target_slot = target_slot_,
                  .code = static_cast<std::uint32_t>(ComputeCode::consume),
                  .offset = place,
                  .bytes = bytes});
}

void DirectReads::consume(int step, int owner, std::uint64_t bytes, std::uint64_t place) {
  const Op take{.kind = OpKind::take, .step = step, .peer = owner, .block = owner, .bytes = bytes};
  Op compute = take;
  compute.kind = OpKind::compute;
  compute.target_slot = target_slot_;
  compute.code = static_cast<std::uint32_t>(ComputeCode::consume);
  compute.offset = place;
  Op release = take;
  release.kind = OpKind::release;
  ops_.insert(ops_.end(), {take, compute, release});
}

std::vector<Op> DirectReads::finish() && {
  const std::size_t count = ops_.size();
  for (std::size_t index = 0; index < count; ++index) {
    if (ops_[index].kind != OpKind::offer) continue;
    Op reclaim = ops_[index];
    reclaim.kind = OpKind::reclaim;
    reclaim.slot = kNone;
    ops_.push_back(reclaim);
  }
  return std::move(ops_);
}

}  // namespace ringcomm::inline v0::plan
