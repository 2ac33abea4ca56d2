// SPDX-License-Identifier: Apache-2.0
#include "plan/verify/structure.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/try.hpp"
#include "plan/op_text.hpp"
#include "plan/verify/slot_access.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::plan {
namespace {

class StructureCheck {
 public:
  StructureCheck(std::span<const RankPlan> slices, const RankPlan& slice) : slices_(slices), slice_(slice) {}

  Status run() {
    for (std::size_t index = 0; index < slice_.ops.size(); ++index) {
      ref_ = {slice_.rank, static_cast<std::int32_t>(index)};
      const Op& op = slice_.ops[index];
      RINGCOMM_TRY(check_numbers(op));
      RINGCOMM_TRY(check_slots(op));
      RINGCOMM_TRY(check_after(op));
      RINGCOMM_TRY(check_queue(op));
      RINGCOMM_TRY(check_group(op));
    }
    return {};
  }

 private:
  template <class... Pieces>
  Status refuse(const Pieces&... pieces) const {
    return Status::invalid_argument(concat(describe(slices_, ref_), ": ", pieces...));
  }

  Status check_numbers(const Op& op) const {
    const bool is_local = !is_transfer(op.kind) && op.peer == kNone;
    if (!is_local && (op.peer < 0 || op.peer >= slice_.ranks || op.peer == slice_.rank))
      return refuse("peer ", op.peer, " is not another rank of ", slice_.ranks);
    if (op.block < 0 || op.block >= slice_.ranks)
      return refuse("block ", op.block, " is not a rank of ", slice_.ranks);
    if (op.step < 0 || op.step >= slice_.steps)
      return refuse("step ", op.step, " is outside the plan's ", slice_.steps, " steps");
    if (op.tile_first > slice_.tiles.size() || op.tile_count > slice_.tiles.size() - op.tile_first)
      return refuse("tiles ", op.tile_first, "+", op.tile_count, " are outside the plan's ",
                    slice_.tiles.size());
    return {};
  }

  Status check_slots(const Op& op) const {
    if (op.kind == OpKind::compute) {
      if (op.slot == kNone && op.peer == kNone) return refuse("reads neither a slot nor a peer's view");
      if (op.slot != kNone && op.slot == op.target_slot)
        return refuse("reads and writes slot ", op.slot, " at once");
    }
    const bool needs_slot = is_message(op.kind) || op.kind == OpKind::offer || op.kind == OpKind::pull;
    if (needs_slot && op.slot == kNone) return refuse("has no slot");
    if (const auto range = local_read(op)) RINGCOMM_TRY(check_range(*range));
    if (const auto range = local_write(op)) {
      RINGCOMM_TRY(check_range(*range));
      if (slice_.slots[static_cast<std::size_t>(range->slot)].kind == SlotKind::own)
        return refuse("writes slot ", range->slot, ", which is the caller's own block");
    }
    return {};
  }

  Status check_range(const SlotRange& range) const {
    if (range.slot < 0 || static_cast<std::size_t>(range.slot) >= slice_.slots.size())
      return refuse("slot ", range.slot, " is outside the plan's ", slice_.slots.size(), " slots");
    const std::uint64_t size = slice_.slots[static_cast<std::size_t>(range.slot)].bytes;
    if (range.offset > size || range.bytes > size - range.offset) {
      return refuse("bytes ", range.offset, "+", range.bytes, " are outside slot ", range.slot, " of ", size,
                    " bytes");
    }
    return {};
  }

  Status check_after(const Op& op) const {
    if (op.after == kNone) return {};
    if (op.after < 0 || static_cast<std::size_t>(op.after) >= slice_.ops.size())
      return refuse("after ", op.after, " is outside the plan's ", slice_.ops.size(), " operations");
    if (slice_.ops[static_cast<std::size_t>(op.after)].stream == op.stream)
      return refuse("after ", op.after, " is on the same queue (list order decides there)");
    return {};
  }

  Status check_queue(const Op& op) {
    if (!is_transfer(op.kind)) return {};
    if (has_transfer_ && op.stream != transfer_stream_)
      return refuse("transfers are on both queues (their order would be undefined)");
    has_transfer_ = true;
    transfer_stream_ = op.stream;
    return {};
  }

  /// Members must follow each other in their queue.
  Status check_group(const Op& op) {
    if (op.group != kNone && !is_message(op.kind)) return refuse("only sends and recvs form groups");
    std::int32_t& open = open_group_[op.stream == StreamRole::comm ? 0 : 1];
    if (op.group == open) return {};
    open = op.group;
    if (op.group != kNone && !seen_groups_.insert(op.group).second)
      return refuse("group ", op.group, " is interrupted by another operation");
    return {};
  }

  std::span<const RankPlan> slices_;
  const RankPlan& slice_;
  OpRef ref_;
  bool has_transfer_ = false;
  StreamRole transfer_stream_ = StreamRole::comm;
  std::int32_t open_group_[2] = {kNone, kNone};
  std::set<std::int32_t> seen_groups_;
};

Status check_agreement(std::span<const RankPlan> slices) {
  if (slices.empty()) return Status::invalid_argument("a plan of no slices (one per rank is needed)");
  const RankPlan& first = slices.front();
  for (std::size_t index = 0; index < slices.size(); ++index) {
    const RankPlan& slice = slices[index];
    if (slice.rank != static_cast<std::int32_t>(index) ||
        slice.ranks != static_cast<std::int32_t>(slices.size())) {
      return Status::invalid_argument(concat("slice ", index, " of ", slices.size(), " is of rank ",
                                             slice.rank, " of ", slice.ranks, " (slices in rank order)"));
    }
    const auto differ = [&](std::string_view what, const auto& a, const auto& b) {
      return Status::mismatch(concat(what, " differs: rank 0 has ", a, ", rank ", slice.rank, " has ", b));
    };
    if (slice.op != first.op) return differ("operation", name_of(first.op), name_of(slice.op));
    if (slice.steps != first.steps) return differ("number of steps", first.steps, slice.steps);
    if (slice.signature != first.signature) return differ("plan signature", first.signature, slice.signature);
  }
  return {};
}

}  // namespace

Status check_structure(std::span<const RankPlan> slices) {
  RINGCOMM_TRY(check_agreement(slices));
  for (const RankPlan& slice : slices) RINGCOMM_TRY(StructureCheck(slices, slice).run());
  return {};
}

}  // namespace ringcomm::inline v0::plan
