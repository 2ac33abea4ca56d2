// SPDX-License-Identifier: Apache-2.0
#include "plan/verify/slot_reads.hpp"

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::plan {
namespace {

/// Slot of a two-sided merge that holds what arrived from rank 0; see SoftmaxRule.
constexpr std::int32_t kFirstInbox = 2;

bool has_code(const Op& op, ComputeCode code) { return op.code == static_cast<std::uint32_t>(code); }

class ReadCollector {
 public:
  ReadCollector(std::span<const RankPlan> slices, const Lanes& lanes, const WaitGraph& graph,
                const Coverage& coverage)
      : slices_(slices), lanes_(lanes), graph_(graph), coverage_(coverage) {}

  Result<std::vector<Read>> run() && {
    for (const Lane& lane : lanes_.all()) {
      for (std::size_t k = 0; k < lane.in.size(); ++k) add_pull(lane.in[k], lane.out[k]);
    }
    for (const RankPlan& slice : slices_) {
      for (std::size_t index = 0; index < slice.ops.size(); ++index)
        RINGCOMM_TRY(add({slice.rank, static_cast<std::int32_t>(index)}));
    }
    return std::move(reads_);
  }

 private:
  void add_pull(OpRef in, OpRef out) {
    if (op_at(slices_, in).kind != OpKind::pull) return;
    const Op& offer = op_at(slices_, out);
    reads_.push_back({.op = in,
                      .owner = out.rank,
                      .range = {offer.slot, offer.offset, offer.bytes},
                      .block = offer.block,
                      .origin = {},
                      .kind = {}});
  }

  Status add(OpRef ref) {
    const Op& op = op_at(slices_, ref);
    Read read{.op = ref, .owner = ref.rank, .range = {}, .block = op.block, .origin = {}, .kind = {}};
    if (op.kind == OpKind::compute) set_claim(op, read);
    if (const auto range = local_read(op)) {
      read.range = *range;
      reads_.push_back(read);
    } else if (op.kind == OpKind::compute) {
      RINGCOMM_TRY(add_view(op.peer, read));
    }
    if (op.kind == OpKind::compute && has_code(op, ComputeCode::merge_pair)) return add_second(read);
    return merges(ref) ? add_partials(read) : Status();
  }

  /// The slot behind the one that a merge_pair reads.
  Status add_second(Read read) {
    const RankPlan& slice = slices_[static_cast<std::size_t>(read.op.rank)];
    ++read.range.slot;
    const auto slot = static_cast<std::size_t>(read.range.slot);
    if (read.range.slot < 1 || slot >= slice.slots.size() || slice.slots[slot].bytes < read.range.bytes) {
      return Status::invalid_argument(concat(describe(slices_, read.op), " merges ", read.range.bytes,
                                             " bytes from slot ", slot, " of ",
                                             slot < slice.slots.size() ? slice.slots[slot].bytes : 0));
    }
    reads_.push_back(read);
    return {};
  }

  void set_claim(const Op& op, Read& read) const {
    if (has_code(op, ComputeCode::consume)) read.origin = consumed_from(read.op.rank, op.block);
    if (has_code(op, ComputeCode::copy_result)) read.origin = 0;
    if (has_code(op, ComputeCode::merge)) read.origin = op.offset;
    if (has_code(op, ComputeCode::merge_pair)) {
      read.block = kNone;  // two of them: which, their senders have said
      read.origin = 0;
      return;
    }
    read.kind = has_code(op, ComputeCode::copy_result) ? Content::Kind::merged_rows : Content::Kind::block;
  }

  std::uint64_t consumed_from(std::int32_t rank, std::int32_t block) const {
    const std::size_t pair =
        static_cast<std::size_t>(rank) * slices_.size() + static_cast<std::size_t>(block);
    return pair < coverage_.origins.size() ? coverage_.origins[pair] : 0;
  }

  bool merges(OpRef ref) const {
    const Op& op = op_at(slices_, ref);
    return op.kind == OpKind::compute && has_code(op, ComputeCode::merge);
  }

  /// A merge reads a partial of every peer, in its inbox or in place.
  Status add_partials(Read read) {
    const RankPlan& slice = slices_[static_cast<std::size_t>(read.op.rank)];
    const Op& op = op_at(slices_, read.op);
    for (int peer = 0; peer < slice.ranks; ++peer) {
      if (peer == slice.rank) continue;
      read.block = peer;
      const auto inbox = static_cast<std::size_t>(kFirstInbox + peer);
      if (inbox >= slice.slots.size() || slice.slots[inbox].kind != SlotKind::arena) {
        RINGCOMM_TRY(add_view(peer, read));
        continue;
      }
      if (slice.slots[inbox].bytes < op.bytes) {
        return Status::invalid_argument(concat(describe(slices_, read.op), " merges ", op.bytes,
                                               " bytes from slot ", inbox, " of ", slice.slots[inbox].bytes));
      }
      read.owner = slice.rank;
      read.range = {kFirstInbox + peer, 0, op.bytes};
      reads_.push_back(read);
    }
    return {};
  }

  /// The view in force is that of the last take before `read.op`.
  Status add_view(std::int32_t peer, Read read) {
    const Op& op = op_at(slices_, read.op);
    const Lane& lane = lanes_.between(peer, read.op.rank);
    const auto refuse = [&](std::string_view why, OpRef other) {
      return Status::invalid_argument(
          concat(describe(slices_, read.op), " uses a view of rank ", peer, why, describe(slices_, other)));
    };
    std::size_t held = lane.in.size();
    for (std::size_t k = 0; k < lane.in.size(); ++k) {
      if (op_at(slices_, lane.in[k]).kind != OpKind::take) continue;
      if (graph_.happens_before(lane.in[k], read.op)) {
        held = k;
      } else if (!graph_.happens_before(read.op, lane.in[k])) {
        return refuse(" while it may change by ", lane.in[k]);
      }
    }
    if (held == lane.in.size()) {
      return Status::invalid_argument(
          concat(describe(slices_, read.op), " uses a view of rank ", peer, " before any take from it"));
    }
    if (!graph_.happens_before(read.op, lane.releases[held]))
      return refuse(" that may already be given back by ", lane.releases[held]);
    const Op& offer = op_at(slices_, lane.out[held]);
    if (offer.block != read.block || offer.bytes != op.bytes)
      return refuse(" of another block or size than was given by ", lane.out[held]);
    read.owner = peer;
    read.range = {offer.slot, offer.offset, offer.bytes};
    reads_.push_back(read);
    return {};
  }

  std::span<const RankPlan> slices_;
  const Lanes& lanes_;
  const WaitGraph& graph_;
  const Coverage& coverage_;
  std::vector<Read> reads_;
};

}  // namespace

Result<std::vector<Read>> collect_reads(std::span<const RankPlan> slices, const Lanes& lanes,
                                        const WaitGraph& graph, const Coverage& coverage) {
  return ReadCollector(slices, lanes, graph, coverage).run();
}

}  // namespace ringcomm::inline v0::plan
