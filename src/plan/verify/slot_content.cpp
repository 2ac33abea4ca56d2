// SPDX-License-Identifier: Apache-2.0
#include "plan/verify/slot_content.hpp"

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::plan {
namespace {

template <class T>
using PerOp = std::vector<std::vector<T>>;  ///< [rank][operation]

class ContentTrace {
 public:
  ContentTrace(std::span<const RankPlan> slices, const WaitGraph& graph, std::span<const Read> reads,
               const SlotHistory& history)
      : slices_(slices), graph_(graph), reads_(reads), history_(history), left_(history.writes.size()) {
    for (const RankPlan& slice : slices) {
      reads_of_.emplace_back(slice.ops.size());
      write_of_.emplace_back(slice.ops.size(), kNone);
      found_.emplace_back(slice.ops.size());
      sender_of_.emplace_back(slice.ops.size());
    }
    for (std::size_t index = 0; index < reads.size(); ++index)
      at(reads_of_, reads[index].op).push_back(static_cast<std::int32_t>(index));
    for (std::size_t index = 0; index < history.writes.size(); ++index)
      at(write_of_, history.writes[index].op) = static_cast<std::int32_t>(index);
  }

  Status run(const Lanes& lanes) {
    for (const Lane& lane : lanes.all()) {
      for (std::size_t k = 0; k < lane.in.size(); ++k) at(sender_of_, lane.in[k]) = lane.out[k];
    }
    for (const std::int32_t node : graph_.order()) {
      for (const OpRef ref : graph_.members(WaitGraph::unit_of_node(node))) {
        if (graph_.access_node(ref) == node) {
          for (const std::int32_t index : at(reads_of_, ref)) RINGCOMM_TRY(find(index));
        }
        if (WaitGraph::is_end(node)) leave(ref);
      }
    }
    return {};
  }

 private:
  template <class T>
  static T& at(PerOp<T>& table, OpRef ref) {
    return table[static_cast<std::size_t>(ref.rank)][static_cast<std::size_t>(ref.index)];
  }

  Status find(std::int32_t index) {
    const Read& read = reads_[static_cast<std::size_t>(index)];
    std::optional<Content> found;
    for (const Piece& piece : history_.pieces[static_cast<std::size_t>(index)]) {
      std::optional<Content> content = content_of(read, piece);
      if (!content) return wrong(read, "bytes that nobody has written");
      content->origin -= piece.first - read.range.offset;
      if (found && *content != *found) return wrong(read, "pieces that do not belong together");
      found = content;
    }
    if (!found) return {};
    if (read.block != kNone && found->block != read.block) return wrong(read, concat("block ", found->block));
    if (read.origin && found->origin != *read.origin)
      return wrong(read, concat("the block from byte ", found->origin, " instead of ", *read.origin, " on"));
    if (read.kind && found->kind != *read.kind) {
      return wrong(read, found->kind == Content::Kind::block ? "a block that is not merged yet"
                                                             : "merged rows instead of a block");
    }
    at(found_, read.op) = *found;
    return {};
  }

  std::optional<Content> content_of(const Read& read, const Piece& piece) const {
    if (piece.write != kNone) {
      const auto write = static_cast<std::size_t>(piece.write);
      Content content = left_[write];
      content.origin += piece.first - history_.writes[write].range.offset;
      return content;
    }
    const auto& slots = slices_[static_cast<std::size_t>(read.owner)].slots;
    if (slots[static_cast<std::size_t>(read.range.slot)].kind != SlotKind::own) return std::nullopt;
    return Content{.block = read.owner, .origin = piece.first, .kind = Content::Kind::block};
  }

  /// What `ref`, now done, has left in the slot that it writes.
  void leave(OpRef ref) {
    const std::int32_t write = at(write_of_, ref);
    if (write == kNone) return;
    const Op& op = op_at(slices_, ref);
    Content& left = left_[static_cast<std::size_t>(write)];
    if (op.kind == OpKind::compute) {
      left.block = op.block;
      const bool merges = op.code == static_cast<std::uint32_t>(ComputeCode::merge) ||
                          op.code == static_cast<std::uint32_t>(ComputeCode::merge_pair);
      left.kind = merges ? Content::Kind::merged_rows : Content::Kind::block;
      return;
    }
    left = at(found_, op.kind == OpKind::recv ? at(sender_of_, ref) : ref);
  }

  Status wrong(const Read& read, std::string_view finds) const {
    return Status::invalid_argument(concat(describe(slices_, read.op), " finds ", finds, " in slot ",
                                           read.range.slot, " of rank ", read.owner, " where it names block ",
                                           read.block));
  }

  std::span<const RankPlan> slices_;
  const WaitGraph& graph_;
  std::span<const Read> reads_;
  const SlotHistory& history_;
  std::vector<Content> left_;  ///< [write]
  PerOp<std::vector<std::int32_t>> reads_of_;
  PerOp<std::int32_t> write_of_;
  PerOp<Content> found_;
  PerOp<OpRef> sender_of_;
};

}  // namespace

Status check_contents(std::span<const RankPlan> slices, const Lanes& lanes, const WaitGraph& graph,
                      std::span<const Read> reads, const SlotHistory& history) {
  return ContentTrace(slices, graph, reads, history).run(lanes);
}

}  // namespace ringcomm::inline v0::plan
