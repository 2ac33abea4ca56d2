// SPDX-License-Identifier: Apache-2.0
// Slices of all_reduce and reduce_scatter: an exchange of inputs, one reduction, and (two-shot) an exchange
// of reduced slices.
#include <algorithm>
#include <utility>

#include "core/try.hpp"
#include "plan/fnv.hpp"
#include "plan/rules/exchange_slice.hpp"
#include "plan/rules/rule_checks.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::plan {
namespace {

constexpr std::int32_t kInput = 0;
constexpr std::int32_t kReduced = 1;
constexpr std::int32_t kFirstInbox = 2;

/// What each rank reduces.
std::vector<Range> ranges_of(const ReduceRule& rule, std::uint64_t total) {
  std::vector<Range> ranges;
  std::uint64_t first = 0;
  for (const std::uint64_t bytes : rule.slice_bytes) {
    ranges.push_back(rule.form == ReduceForm::one_shot ? Range{0, total} : Range{first, bytes});
    first += bytes;
  }
  return ranges;
}

class ReduceSlice : ExchangeSlice {
 public:
  ReduceSlice(const ReduceRule& rule, int rank, std::uint64_t total)
      : ExchangeSlice(rule.access, rule.ranks, rank), rule_(rule), ranges_(ranges_of(rule, total)) {}

  std::vector<Slot> slots(std::uint64_t total) const {
    std::vector<Slot> slots{{SlotKind::own, total}, {SlotKind::result, own().bytes}};
    if (is_direct()) return slots;
    for (int peer = 0; peer < rule_.ranks; ++peer)
      slots.push_back({SlotKind::arena, peer == rank_ ? 0 : own().bytes});
    if (is_two_shot()) slots.push_back({SlotKind::result, total});
    return slots;
  }

  std::vector<Op> ops() && {
    exchange_inputs();
    reduce();
    if (is_direct()) release_inputs();
    const std::vector<Op> reclaims_of_inputs = std::exchange(reclaims_, {});
    if (is_two_shot()) send_reduced();
    // Results may lie where the input lies: nothing is written before its last reader has given it back.
    ops_.insert(ops_.end(), reclaims_of_inputs.begin(), reclaims_of_inputs.end());
    add_copy({.block = rank_, .slot = kReduced, .bytes = own().bytes});
    if (is_two_shot()) copy_reduced();
    ops_.insert(ops_.end(), reclaims_.begin(), reclaims_.end());
    return std::move(ops_);
  }

 private:
  bool is_two_shot() const { return rule_.form == ReduceForm::two_shot; }
  /// What `rank` reduces.
  Range range_of(int rank) const { return ranges_[static_cast<std::size_t>(rank)]; }
  Range own() const { return range_of(rank_); }

  void exchange_inputs() {
    for (int distance = 1; distance < rule_.ranks; ++distance)
      give(0, to(distance), kInput, range_of(to(distance)));
    for (int distance = 1; distance < rule_.ranks; ++distance)
      accept(0, from(distance), kFirstInbox + from(distance), {0, own().bytes});
  }

  void reduce() {
    ops_.push_back({.kind = OpKind::compute,
                    .block = rank_,
                    .slot = kInput,
                    .target_slot = kReduced,
                    .code = static_cast<std::uint32_t>(ComputeCode::merge),
                    .offset = own().offset,
                    .bytes = own().bytes});
  }

  void release_inputs() {
    for (int distance = 1; distance < rule_.ranks; ++distance) give_back(0, from(distance), own().bytes);
  }

  void send_reduced() {
    for (int distance = 1; distance < rule_.ranks; ++distance)
      give(1, to(distance), kReduced, {0, own().bytes});
    if (is_direct()) return;
    for (int distance = 1; distance < rule_.ranks; ++distance)
      accept(1, from(distance), whole_slot(), range_of(from(distance)));
  }

  void copy_reduced() {
    for (int distance = 1; distance < rule_.ranks; ++distance) {
      const int peer = from(distance);
      const Range range = range_of(peer);
      Op op{.step = 1, .block = peer, .bytes = range.bytes};
      if (!is_direct()) {
        op.slot = whole_slot();
        op.offset = range.offset;
        add_copy(op);
        continue;
      }
      accept(1, peer, kNone, range);
      op.peer = peer;
      add_copy(op);
      give_back(1, peer, range.bytes);
    }
  }

  void add_copy(Op op) {
    op.kind = OpKind::compute;
    op.code = static_cast<std::uint32_t>(ComputeCode::copy_result);
    ops_.push_back(op);
  }

  std::int32_t whole_slot() const { return kFirstInbox + rule_.ranks; }

  const ReduceRule& rule_;
  std::vector<Range> ranges_;
};

}  // namespace

Result<RankPlan> reduce_slice(const ReduceRule& rule, int rank) {
  const OpCode op = rule.form == ReduceForm::scatter ? OpCode::reduce_scatter : OpCode::all_reduce;
  RINGCOMM_TRY(check_ranks(name_of(op), rule.ranks, rank));
  RINGCOMM_TRY_ASSIGN(const std::uint64_t total, check_blocks(name_of(op), rule.ranks, rule.slice_bytes));
  Fnv signature;
  signature.add(op).add(rule.ranks).add(rule.access).add(rule.form).add(rule.slice_bytes);
  ReduceSlice slice(rule, rank, total);
  std::vector<Slot> slots = slice.slots(total);
  return RankPlan{.rank = rank,
                  .ranks = rule.ranks,
                  .op = op,
                  .steps = rule.form == ReduceForm::two_shot ? 2 : 1,
                  .signature = signature.value(),
                  .slots = std::move(slots),
                  .ops = std::move(slice).ops(),
                  .tiles = {}};
}

}  // namespace ringcomm::inline v0::plan
