// SPDX-License-Identifier: Apache-2.0
// One-shot, two-shot, packed all-to-all and gather-stats: the k-way merge in rank order, which gives the same
// bits whoever does it and however the rows came.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "collectives/pack.hpp"
#include "collectives/softmax_call.hpp"
#include "core/try.hpp"

namespace ringcomm::inline v0::collectives {
namespace {

using plan::MergeAlgorithm;

class SoftmaxRun final : public Runnable {
 public:
  SoftmaxRun(Channel& channel, const SoftmaxCall& call) : channel_(channel), rule_(call.rule) {
    lay_out(call);
    compute = [](Runnable& self, const Compute& step) { static_cast<SoftmaxRun&>(self).run(step); };
    if (is_staged_) prepare = [](Runnable& self) { static_cast<SoftmaxRun&>(self).stage(); };
  }

  Status allocate(const SoftmaxCall& call, plan::RankPlan slice, const Descriptor& descriptor) {
    slots_ = {static_cast<std::byte*>(call.partial.out.data)};
    if (is_staged_) {
      auto staged = take_block(stage_bytes() * set_turns());
      if (!staged.is_ok() && std::exchange(turns_, 1) > 1) staged = take_block(stage_bytes());
      RINGCOMM_TRY(staged.status());
      slots_[0] = staged.value();
    }
    const std::size_t count = slice.slots.size() - (gathers() ? 1 : 0);
    for (std::size_t slot = 1; slot < count; ++slot) {
      if (slot == kMerged && merges_into_result_) {
        slots_.push_back(nullptr);  // nobody is given it
        continue;
      }
      RINGCOMM_TRY_ASSIGN(std::byte* const block, take_block(slice.slots[slot].bytes));
      slots_.push_back(block);
    }
    if (gathers()) {
      gathered_ = reinterpret_cast<float*>(slots_.back());
      slots_.push_back(is_staged_ ? slots_[0] + rows_ * unit_bytes_
                                  : static_cast<std::byte*>(call.partial.statistic.data));
      merged_statistics_.resize(static_cast<std::size_t>(row_count(slice.rank) * per_row()));
    }
    common = descriptor;
    RINGCOMM_TRY_ASSIGN(program, lower(std::move(slice), slots_, common));
    for (TransportOp& op : program.ops) {
      if (turns_ > 1 && op.address >= slots_[0] && op.address < slots_[0] + stage_bytes())
        staged_ops_.push_back(&op);
    }
    // The last batch: releases and reclaims of results.
    if (rule_.leaves_results && is_direct() && is_sliced() && rule_.ranks > 1) items_left = 1;
    return {};
  }

  std::span<const MergedRows::Part> parts() const { return parts_; }

 private:
  void lay_out(const SoftmaxCall& call) {
    heads_ = call.heads;
    head_counts_ = call.head_counts;
    kind_ = {call.partial.form, call.partial.base};
    dim_ = call.partial.dim();
    rows_ = call.partial.rows();
    partial_ = rows_of(call.partial);
    result_ = rows_of(call.result);
    sources_.resize(static_cast<std::size_t>(rule_.ranks));
    unit_bytes_ = static_cast<std::int64_t>(rule_.row_bytes - (gathers() ? rule_.statistic_bytes : 0));
    for (int rank = 0; rank <= rule_.ranks; ++rank) firsts_.push_back(first_row_of(rank));
    // Messages are one piece each; in place a peer reads its rows inside the whole block, if they are one
    // range.
    is_packed_ =
        !is_direct() || rule_.algorithm == MergeAlgorithm::packed_all_to_all || !head_counts_.empty();
    is_staged_ = is_packed_ || !call.is_offerable;
    // Peers that read the partial in place must not see the result in it: then the plan's reclaims come
    // first.
    merges_into_result_ =
        rule_.is_scattered || (!rule_.leaves_results && !is_sliced() && (!call.is_in_place || is_staged_));
    stores_ = call.stores;
    if (!rule_.leaves_results) return;
    for (int rank = 0; rank < rule_.ranks; ++rank) {
      const bool is_here = is_sliced() ? row_count(rank) > 0 : rank == channel_.rank() && rows_ > 0;
      if (is_here)
        parts_.push_back({.owner = rank, .first_row = first_row(is_sliced() ? rank : 0), .rows = {}});
    }
  }

  bool is_direct() const { return rule_.access == plan::Access::direct_read; }
  bool is_sliced() const { return rule_.algorithm != MergeAlgorithm::one_shot; }
  bool gathers() const { return rule_.algorithm == MergeAlgorithm::gather_stats; }
  std::int64_t per_row() const { return statistics_per_row(kind_.form); }

  std::int64_t first_row_of(int rank) const {
    if (!is_sliced()) return rank == rule_.ranks ? rows_ : 0;
    if (rule_.counts.empty())
      return static_cast<std::int64_t>(plan::slice_first(rule_.rows, rule_.ranks, rank));
    const auto of_last = static_cast<std::size_t>(rank) - 1;
    return rank == 0 ? 0 : firsts_.back() + static_cast<std::int64_t>(rule_.counts[of_last]);
  }
  /// Of the rows that `rank` merges, in the order of the packed block.
  std::int64_t first_row(int rank) const { return firsts_[static_cast<std::size_t>(rank)]; }
  std::int64_t row_count(int rank) const {
    return is_sliced() ? first_row(rank + 1) - first_row(rank) : rows_;
  }

  /// Rows at `at` as they travel: with gather-stats only their outs.
  PartialRows block(std::byte* at, std::int64_t rows) const {
    PartialRows block = rows_in_block(at, rows, dim_, partial_.dtype, kind_.form);
    if (gathers()) block.statistic = nullptr;
    return block;
  }

  Result<std::byte*> take_block(std::uint64_t bytes) {
    RINGCOMM_TRY_ASSIGN(auto taken, channel_.allocate(bytes));
    blocks_.push_back(std::move(taken));
    return blocks_.back().data();
  }

  std::uint64_t stage_bytes() const {
    constexpr std::uint64_t kLineBytes = 64;
    return (rule_.rows * rule_.row_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
  }

  // Lines that a peer has read are slow to write while they are in its own caches. Blocks that take turns
  // have left them when their turn comes round (not the larger caches of a far peer: there copies go around).
  // A transport that orders by stream has the addresses before prepare().
  std::uint64_t set_turns() {
    constexpr std::uint64_t kPrivateCacheBytes = 2 << 20, kTurnsMax = 32;
    if (is_direct() && !gathers() && !channel_.capabilities().stream_ordered && stage_bytes() > 0) {
      turns_ = std::clamp<std::uint64_t>(kPrivateCacheBytes / stage_bytes(), 1, kTurnsMax);
    }
    return turns_;
  }

  void take_turn() {
    turn_ = turn_ + 1 < turns_ ? turn_ + 1 : 0;
    std::byte* const before = slots_[0];
    slots_[0] = blocks_.front().data() + turn_ * stage_bytes();
    for (TransportOp* const op : staged_ops_) op->address = slots_[0] + (op->address - before);
  }

  // Peers that read in place see the whole block; packed slices lie one after the other.
  void stage() {
    if (!shared_copy_.is_far()) take_turn();
    if (!is_packed_ && is_sliced() && !gathers()) {
      // Nobody but this rank reads the rows that it merges, and it reads them where they are.
      const std::int64_t end = first_row(program.slice.rank + 1);
      stage_rows(0, first_row(program.slice.rank));
      stage_rows(end, rows_ - end);
      return count_packed(rows_ - row_count(program.slice.rank));
    }
    if (!is_packed_ || !is_sliced()) {
      stage_rows(0, rows_);
    } else {
      std::int64_t first_head = 0;
      for (int rank = 0; rank < rule_.ranks; ++rank) {
        const PartialRows target = staged(first_row(rank), row_count(rank));
        if (head_counts_.empty()) {
          copy_rows(advanced(partial_, first_row(rank)), target, row_count(rank), dim_, kind_.form);
          continue;
        }
        const std::int64_t count = head_counts_[static_cast<std::size_t>(rank)];
        for (std::int64_t token = 0; token < rows_ / heads_; ++token) {
          copy_rows(advanced(partial_, token * heads_ + first_head), advanced(target, token * count), count,
                    dim_, kind_.form);
        }
        first_head += count;
      }
    }
    count_packed(rows_);
  }

  void count_packed(std::int64_t rows) {
    channel_.count_packed(static_cast<std::size_t>(rows) * static_cast<std::size_t>(rule_.row_bytes));
  }

  void stage_rows(std::int64_t first, std::int64_t count) {
    const PartialRows from = advanced(partial_, first);
    const PartialRows to = advanced(staged(0, rows_), first);
    if (from.out_stride != dim_ || to.out_stride != dim_) return copy_rows(from, to, count, dim_, kind_.form);
    const auto bytes = static_cast<std::size_t>(count * dim_) * bytes_of(partial_.dtype);
    shared_copy_.copy(to.out, from.out, bytes);
    copy_rows(from, to, count, 0, kind_.form);
  }

  PartialRows staged(std::int64_t first, std::int64_t count) const {
    PartialRows rows = block(slots_[0] + first * unit_bytes_, count);
    if (!gathers()) return rows;
    rows.statistic = reinterpret_cast<float*>(slots_.back()) + first * per_row();
    return rows;
  }

  void run(const Compute& step) {
    if (step.op.code == static_cast<std::uint32_t>(plan::ComputeCode::merge)) {
      merge(step);
    } else if (step.op.code == static_cast<std::uint32_t>(plan::ComputeCode::consume)) {
      keep_statistics(step);
    } else {
      copy_result(step);
    }
  }

  void keep_statistics(const Compute& step) {
    const std::byte* const from = step.view != nullptr ? step.view->data : step.slot;
    if (step.op.bytes == 0 || step.target == nullptr) return;  // a message arrives in its place
    std::memcpy(step.target + step.op.offset, from, step.op.bytes);
  }

  void merge(const Compute& step) {
    const int own = program.slice.rank;
    const std::int64_t count = row_count(own);
    if (count == 0) return;
    for (int rank = 0; rank < rule_.ranks; ++rank)
      sources_[static_cast<std::size_t>(rank)] = source_of(rank, first_row(own), count);
    PartialRows target = merges_into_result_ ? result_ : block(step.target, count);
    if (target.statistic == nullptr) target.statistic = merged_statistics_.data();
    merge_rows(kind_, dim_, target, sources_, 0, count, scratch_, stores_);
  }

  PartialRows source_of(int rank, std::int64_t first, std::int64_t count) const {
    PartialRows source = outs_of(rank, first, count);
    if (gathers()) source.statistic = gathered_ + (rank * rows_ + first) * per_row();
    if (gathers()) source.statistic_stride = per_row(), source.pair_stride = 1;
    return source;
  }

  PartialRows outs_of(int rank, std::int64_t first, std::int64_t count) const {
    if (rank == program.slice.rank)
      return head_counts_.empty() ? advanced(partial_, first) : staged(first, count);
    const auto at = static_cast<std::size_t>(rank);
    if (!is_direct()) return block(slots_[kFirstInbox + at], count);
    auto* const view = const_cast<std::byte*>(program.views[at].data);
    if (is_packed_) return block(view, count);
    // The view begins `first` rows into the peer's block; out and statistics of a slice lie in two places of
    // it.
    return advanced(block(view - first * unit_bytes_, rows_), first);
  }

  void copy_result(const Compute& step) {
    if (merges_into_result_) return;
    if (rule_.leaves_results) return point_to(step);
    if (gathers() && step.op.block == program.slice.rank) merge_all_statistics();
    if (step.op.bytes == 0) return;
    auto* const from = step.view != nullptr ? const_cast<std::byte*>(step.view->data) : step.slot;
    const std::int64_t count = row_count(step.op.block);
    copy_rows(block(from, count), advanced(result_, first_row(step.op.block)), count, dim_, kind_.form,
              stores_);
  }

  void point_to(const Compute& step) {
    auto* const from = step.view != nullptr ? const_cast<std::byte*>(step.view->data) : step.slot;
    const std::int64_t count = row_count(step.op.block);
    for (MergedRows::Part& part : parts_) {
      if (part.owner == step.op.block) part.rows = partial_at(from, count, dim_, partial_.dtype, kind_);
    }
  }

  // Every rank has all statistics, so their merge need not travel: the same bits as the owners'.
  void merge_all_statistics() {
    for (int rank = 0; rank < rule_.ranks; ++rank) {
      PartialRows& source = sources_[static_cast<std::size_t>(rank)];
      source.statistic = gathered_ + rank * rows_ * per_row();
      source.statistic_stride = per_row();
      source.pair_stride = 1;
    }
    merge_rows(kind_, 0, result_, sources_, 0, rows_, scratch_);
  }

  static constexpr std::size_t kMerged = 1;
  static constexpr std::size_t kFirstInbox = 2;
  Channel& channel_;
  plan::SoftmaxRule rule_;
  std::int64_t heads_ = 1;
  std::vector<std::int64_t> head_counts_;
  MergeKind kind_;
  std::int64_t dim_ = 0;
  std::int64_t rows_ = 0;
  PartialRows partial_;
  PartialRows result_;
  std::int64_t unit_bytes_ = 0;
  std::vector<std::int64_t> firsts_;
  bool is_packed_ = false;
  bool is_staged_ = false;
  bool merges_into_result_ = false;
  std::vector<ArenaBlock> blocks_;
  std::uint64_t turns_ = 1, turn_ = 0;    ///< blocks that are staged into in turns
  std::vector<TransportOp*> staged_ops_;  ///< that name the block in use
  std::vector<std::byte*> slots_;         ///< of the plan; the last two are statistics with gather-stats
  float* gathered_ = nullptr;
  std::vector<float> merged_statistics_;  ///< of the own slice, not needed any more once it is merged
  std::vector<PartialRows> sources_;      ///< scratch of merge()
  MergeScratch scratch_{static_cast<std::size_t>(rule_.ranks)};
  SharedCopy shared_copy_;
  MergeStores stores_ = MergeStores::cached;
  std::vector<MergedRows::Part> parts_;  ///< with leaves_results
};

}  // namespace

std::span<const MergedRows::Part> parts_of(const Runnable& runnable) {
  return static_cast<const SoftmaxRun&>(runnable).parts();
}

Result<std::shared_ptr<Runnable>> make_softmax_run(Channel& channel, const SoftmaxCall& call,
                                                   const Descriptor& common) {
  RINGCOMM_TRY_ASSIGN(auto slice, plan::softmax_slice(call.rule, channel.rank()));
  auto made = std::make_shared<SoftmaxRun>(channel, call);
  RINGCOMM_TRY(made->allocate(call, std::move(slice), common));
  return std::shared_ptr<Runnable>(std::move(made));
}

}  // namespace ringcomm::inline v0::collectives
