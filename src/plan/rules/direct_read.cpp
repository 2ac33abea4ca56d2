// SPDX-License-Identifier: Apache-2.0
#include "plan/rules/direct_read.hpp"

#include <utility>

#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::plan {

DirectReads::DirectReads(int rank, int ranks, int direction, int target_slot)
    : rank_(rank), ranks_(ranks), direction_(direction), target_slot_(target_slot) {}

int DirectReads::member(int offset) const {
  return (((rank_ + offset * direction_) % ranks_) + ranks_) % ranks_;
}

void DirectReads::offer(int step, std::uint64_t bytes) {
  ops_.push_back(
      {.kind = OpKind::offer, .step = step, .peer = member(step), .block = rank_, .slot = 0, .bytes = bytes});
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

void DirectReads::consume(int step, std::uint64_t bytes, std::uint64_t place) {
  const int owner = member(-step);
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
