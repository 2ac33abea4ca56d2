// SPDX-License-Identifier: Apache-2.0
#include "plan/rules/softmax_doubling.hpp"

#include <bit>
#include <utility>

namespace ringcomm::inline v0::plan {
namespace {

class Doubling {
 public:
  Doubling(const SoftmaxRule& rule, int rank)
      : rule_(rule),
        rank_(rank),
        bytes_(rule.rows * rule.row_bytes),
        inner_(static_cast<int>(std::bit_floor(static_cast<unsigned>(rule.ranks)))) {}

  RankPlan slice(std::uint64_t signature) && {
    const int rounds = std::countr_zero(static_cast<unsigned>(inner_));
    add(OpKind::compute, {.block = rank_, .slot = 0, .target_slot = kFirst});
    ops_.back().code = static_cast<std::uint32_t>(ComputeCode::consume);
    const bool is_outer = rank_ >= inner_;
    const bool has_outer = rank_ + inner_ < rule_.ranks;
    if (is_outer) give(0, rank_ - inner_, rank_);
    if (has_outer) {
      get(0, rank_ + inner_, rank_ + inner_);
      merge(0, rank_ + inner_, rank_);
    }
    for (int round = 0; round < rounds && !is_outer; ++round) exchange(round);
    const std::int32_t last = rounds + 1;
    if (has_outer) give(last, rank_ + inner_, 0);
    if (is_outer) {
      get(last, rank_ - inner_, 0);
      ++current_;
    }
    add(OpKind::compute, {.step = last, .block = 0, .slot = current_});
    ops_.back().code = static_cast<std::uint32_t>(ComputeCode::copy_result);
    ops_.insert(ops_.end(), reclaims_.begin(), reclaims_.end());
    std::vector<Slot> slots{{SlotKind::own, bytes_}, {SlotKind::result, bytes_}};
    for (std::int32_t slot = kFirst; slot <= last_slot_; ++slot) slots.push_back({SlotKind::arena, bytes_});
    return {.rank = rank_,
            .ranks = rule_.ranks,
            .op = OpCode::softmax_all_reduce,
            .steps = last + 1,
            .signature = signature,
            .slots = std::move(slots),
            .ops = std::move(ops_),
            .tiles = {}};
  }

 private:
  static constexpr std::int32_t kFirst = 2;
  bool is_direct() const { return rule_.access == Access::direct_read; }

  /// The lowest rank in what a rank holds before this round.
  static int block_of(int rank, int round) { return rank & ~((1 << round) - 1); }

  void exchange(int round) {
    const int partner = rank_ ^ (1 << round);
    give(round + 1, partner, block_of(rank_, round));
    get(round + 1, partner, block_of(partner, round));
    merge(round + 1, partner, block_of(rank_, round + 1));
  }

  void add(OpKind kind, Op op) {
    op.kind = kind;
    op.bytes = bytes_;
    ops_.push_back(op);
  }

  void give(std::int32_t step, int peer, int block) {
    Op op{.step = step, .peer = peer, .block = block, .slot = current_};
    op.group = is_direct() ? kNone : step;
    add(is_direct() ? OpKind::offer : OpKind::send, op);
    if (!is_direct()) return;
    op = ops_.back();
    op.kind = OpKind::reclaim;
    op.slot = kNone;
    reclaims_.push_back(op);
  }

  void get(std::int32_t step, int peer, int block) {
    Op op{.step = step, .peer = peer, .block = block, .slot = current_ + 1};
    op.group = is_direct() ? kNone : step;
    last_slot_ = current_ + 1;
    add(is_direct() ? OpKind::pull : OpKind::recv, op);
    op.slot = kNone;
    if (is_direct()) add(OpKind::release, op);
  }

  void merge(std::int32_t step, int peer, int block) {
    add(OpKind::compute,
        {.step = step, .peer = peer, .block = block, .slot = current_, .target_slot = current_ + 2});
    ops_.back().code = static_cast<std::uint32_t>(ComputeCode::merge_pair);
    current_ += 2;
    last_slot_ = current_;
  }

  const SoftmaxRule& rule_;
  int rank_;
  std::uint64_t bytes_;
  int inner_;  ///< ranks below it double, the others wait
  std::int32_t current_ = kFirst;
  std::int32_t last_slot_ = kFirst;
  std::vector<Op> ops_;
  std::vector<Op> reclaims_;
};

}  // namespace

RankPlan doubling_slice(const SoftmaxRule& rule, int rank, std::uint64_t signature) {
  return Doubling(rule, rank).slice(signature);
}

}  // namespace ringcomm::inline v0::plan
