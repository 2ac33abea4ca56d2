// SPDX-License-Identifier: Apache-2.0
#include "plan/verify/slot_order.hpp"

#include <algorithm>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::plan {
namespace {

/// Indices of the accesses to a slot, or to a part of it that every access covers as a whole.
struct SlotUse {
  std::vector<std::int32_t> writes;
  std::vector<std::int32_t> reads;
};

class AccessOrder {
 public:
  AccessOrder(std::span<const RankPlan> slices, const WaitGraph& graph, std::span<const Read> reads)
      : slices_(slices), graph_(graph), reads_(reads) {
    history_.pieces.resize(reads.size());
    for (const RankPlan& slice : slices) uses_.emplace_back(slice.slots.size());
    for (const RankPlan& slice : slices) {
      for (std::size_t index = 0; index < slice.ops.size(); ++index)
        add_write({slice.rank, static_cast<std::int32_t>(index)});
    }
    for (std::size_t index = 0; index < reads.size(); ++index) {
      if (reads[index].range.bytes == 0) continue;
      use(reads[index].owner, reads[index].range.slot).reads.push_back(static_cast<std::int32_t>(index));
    }
  }

  Result<SlotHistory> run() && {
    for (std::size_t rank = 0; rank < uses_.size(); ++rank) {
      for (std::size_t slot = 0; slot < uses_[rank].size(); ++slot) {
        where_ = concat("slot ", slot, " of rank ", rank);
        RINGCOMM_TRY(order_slot(uses_[rank][slot]));
      }
    }
    return std::move(history_);
  }

 private:
  const Write& write(std::int32_t index) const { return history_.writes[static_cast<std::size_t>(index)]; }
  const Read& read(std::int32_t index) const { return reads_[static_cast<std::size_t>(index)]; }
  SlotUse& use(std::int32_t rank, std::int32_t slot) {
    return uses_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(slot)];
  }

  void add_write(OpRef ref) {
    const auto range = local_write(op_at(slices_, ref));
    if (!range || range->bytes == 0) return;
    use(ref.rank, range->slot).writes.push_back(static_cast<std::int32_t>(history_.writes.size()));
    history_.writes.push_back({ref, *range});
  }

  /// Cuts the slot wherever an access begins or ends.
  Status order_slot(const SlotUse& slot) {
    std::vector<std::uint64_t> cuts;
    const auto cut = [&](const SlotRange& range) {
      cuts.push_back(range.offset);
      cuts.push_back(range.offset + range.bytes);
    };
    for (const std::int32_t index : slot.writes) cut(write(index).range);
    for (const std::int32_t index : slot.reads) cut(read(index).range);
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    std::vector<SlotUse> parts(cuts.size());
    const auto spread = [&](const SlotRange& range, std::int32_t index, auto list) {
      const auto from = std::lower_bound(cuts.begin(), cuts.end(), range.offset);
      for (auto at = static_cast<std::size_t>(from - cuts.begin()); cuts[at] < range.offset + range.bytes;
           ++at)
        (parts[at].*list).push_back(index);
    };
    for (const std::int32_t index : slot.writes) spread(write(index).range, index, &SlotUse::writes);
    for (const std::int32_t index : slot.reads) spread(read(index).range, index, &SlotUse::reads);
    for (std::size_t at = 0; at < parts.size(); ++at) RINGCOMM_TRY(order_part(cuts[at], parts[at]));
    return {};
  }

  /// Writes that are ordered pairwise form a chain; a read must fall between two of its links.
  Status order_part(std::uint64_t first, SlotUse& part) {
    auto& writes = part.writes;
    std::sort(writes.begin(), writes.end(), [&](std::int32_t a, std::int32_t b) {
      return graph_.access_place(write(a).op) < graph_.access_place(write(b).op);
    });
    for (std::size_t k = 1; k < writes.size(); ++k) {
      const OpRef earlier = write(writes[k - 1]).op;
      const OpRef later = write(writes[k]).op;
      if (!graph_.happens_before(earlier, later)) return race(later, earlier, " also writes it");
    }
    for (const std::int32_t index : part.reads) {
      const OpRef reader = read(index).op;
      const auto next = std::partition_point(writes.begin(), writes.end(), [&](std::int32_t earlier) {
        return graph_.happens_before(write(earlier).op, reader);
      });
      if (next != writes.end() && !graph_.happens_before(reader, write(*next).op))
        return race(write(*next).op, reader, " may still read it");
      history_.pieces[static_cast<std::size_t>(index)].push_back(
          {first, next == writes.begin() ? kNone : *(next - 1)});
    }
    return {};
  }

  Status race(OpRef writer, OpRef other, std::string_view does) const {
    return Status::invalid_argument(concat(describe(slices_, writer), " rewrites ", where_, " while ",
                                           describe(slices_, other), does, " (nothing orders the two)"));
  }

  std::span<const RankPlan> slices_;
  const WaitGraph& graph_;
  std::span<const Read> reads_;
  std::vector<std::vector<SlotUse>> uses_;  ///< [rank][slot]
  SlotHistory history_;
  std::string where_;
};

}  // namespace

Result<SlotHistory> order_accesses(std::span<const RankPlan> slices, const WaitGraph& graph,
                                   std::span<const Read> reads) {
  return AccessOrder(slices, graph, reads).run();
}

}  // namespace ringcomm::inline v0::plan
