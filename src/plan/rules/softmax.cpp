// SPDX-License-Identifier: Apache-2.0
// Slices of the softmax merges: (gather-stats) an all-gather of statistics, an exchange of partials, one
// merge, and (two-shot and its kin) an exchange of results.
#include <algorithm>
#include <utility>

#include "core/try.hpp"
#include "plan/fnv.hpp"
#include "plan/rules/exchange_slice.hpp"
#include "plan/rules/rule_checks.hpp"
#include "plan/rules/softmax_doubling.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::plan {
namespace {

constexpr std::int32_t kPartial = 0;
constexpr std::int32_t kMerged = 1;
constexpr std::int32_t kFirstInbox = 2;

class SoftmaxSlice : ExchangeSlice {
 public:
  SoftmaxSlice(const SoftmaxRule& rule, int rank)
      : ExchangeSlice(rule.access, rule.ranks, rank),
        rule_(rule),
        unit_bytes_(rule.row_bytes - (gathers_statistics() ? rule.statistic_bytes : 0)),
        partial_step_(gathers_statistics() ? 1 : 0) {
    for (int of = 0; of <= rule.ranks; ++of)
      firsts_.push_back(rule.counts.empty() ? slice_first(rule.rows, rule.ranks, of)
                        : of == 0           ? 0
                                            : firsts_.back() + rule.counts[static_cast<std::size_t>(of) - 1]);
  }

  std::int32_t steps() const { return partial_step_ + (shares_results() ? 2 : 1); }

  std::vector<Slot> slots() const {
    std::vector<Slot> slots{{SlotKind::own, rule_.rows * unit_bytes_},
                            {SlotKind::result, rows_of(rank_).bytes}};
    for (int peer = 0; peer < rule_.ranks && !is_direct(); ++peer) {
      const std::uint64_t largest = std::max(rows_of(rank_).bytes, rows_of(peer).bytes);
      slots.push_back({SlotKind::arena, peer == rank_ ? 0 : largest});
    }
    if (!gathers_statistics()) return slots;
    slots.push_back({SlotKind::result, statistics_bytes() * static_cast<std::uint64_t>(rule_.ranks)});
    slots.push_back({SlotKind::own, statistics_bytes()});
    return slots;
  }

  std::vector<Op> ops() && {
    if (gathers_statistics()) gather_statistics();
    send_out(partial_step_, kPartial);
    for (int distance = 1; distance < rule_.ranks; ++distance)
      accept_rows(partial_step_, from(distance), rows_of(rank_).bytes);
    merge();
    if (is_direct()) {
      for (int distance = 1; distance < rule_.ranks; ++distance)
        give_back(partial_step_, from(distance), rows_of(rank_).bytes);
    }
    const std::vector<Op> reclaims_of_partial = std::exchange(reclaims_, {});
    if (shares_results()) send_results();
    // Results may lie where the partial lies: nothing is written before its last reader has given it back.
    ops_.insert(ops_.end(), reclaims_of_partial.begin(), reclaims_of_partial.end());
    if (rule_.leaves_results && shares_results() && is_direct()) {
      view_results();
    } else {
      copy_result(partial_step_, rank_);
      if (shares_results()) copy_results();
    }
    ops_.insert(ops_.end(), reclaims_.begin(), reclaims_.end());
    return std::move(ops_);
  }

 private:
  bool gathers_statistics() const { return rule_.algorithm == MergeAlgorithm::gather_stats; }
  bool is_sliced() const { return rule_.algorithm != MergeAlgorithm::one_shot; }
  bool shares_results() const { return is_sliced() && !rule_.is_scattered; }
  std::uint64_t statistics_bytes() const { return rule_.rows * rule_.statistic_bytes; }
  std::int32_t gathered_slot() const { return is_direct() ? kFirstInbox : kFirstInbox + rule_.ranks; }

  /// The rows that `rank` merges.
  Range rows_of(int rank) const {
    if (!is_sliced()) return {0, rule_.rows * unit_bytes_};
    const std::uint64_t first = firsts_[static_cast<std::size_t>(rank)];
    const std::uint64_t end = firsts_[static_cast<std::size_t>(rank) + 1];
    return {first * unit_bytes_, (end - first) * unit_bytes_};
  }

  /// Everybody's statistics, in rank order, into one slot; messages arrive in their places.
  void gather_statistics() {
    const std::int32_t gathered = gathered_slot();
    const std::uint64_t bytes = statistics_bytes();
    const auto place = [bytes](int rank) { return static_cast<std::uint64_t>(rank) * bytes; };
    const auto code = static_cast<std::uint32_t>(ComputeCode::consume);
    ops_.push_back({.kind = OpKind::compute,
                    .block = rank_,
                    .slot = gathered + 1,
                    .target_slot = gathered,
                    .code = code,
                    .offset = place(rank_),
                    .bytes = bytes});
    for (int distance = 1; distance < rule_.ranks; ++distance)
      give(0, to(distance), gathered + 1, {0, bytes});
    for (int distance = 1; distance < rule_.ranks; ++distance)
      accept(0, from(distance), gathered, {place(from(distance)), bytes});
    for (int distance = 1; distance < rule_.ranks; ++distance) {
      const int peer = from(distance);
      Op consume{.kind = OpKind::compute, .block = peer, .code = code, .offset = place(peer), .bytes = bytes};
      (is_direct() ? consume.target_slot : consume.slot) = gathered;
      if (is_direct()) consume.peer = peer;
      ops_.push_back(consume);
      if (is_direct()) give_back(0, peer, bytes);
    }
  }

  /// Everybody gets the rows that it merges (of the partial), or all merged rows of this rank.
  void send_out(int step, std::int32_t slot) {
    for (int distance = 1; distance < rule_.ranks; ++distance) {
      const int peer = to(distance);
      give(step, peer, slot, slot == kPartial ? rows_of(peer) : Range{0, rows_of(rank_).bytes});
    }
  }

  void accept_rows(int step, int peer, std::uint64_t bytes) {
    accept(step, peer, kFirstInbox + peer, {0, bytes});
  }

  void merge() {
    const Range range = rows_of(rank_);
    ops_.push_back({.kind = OpKind::compute,
                    .step = partial_step_,
                    .block = rank_,
                    .slot = kPartial,
                    .target_slot = kMerged,
                    .code = static_cast<std::uint32_t>(ComputeCode::merge),
                    .offset = range.offset,
                    .bytes = range.bytes});
  }

  void copy_result(int step, int peer) {
    Op op{.kind = OpKind::compute, .step = step, .block = peer, .bytes = rows_of(peer).bytes};
    op.code = static_cast<std::uint32_t>(ComputeCode::copy_result);
    if (peer == rank_) {
      op.slot = kMerged;
    } else if (is_direct()) {
      op.peer = peer;
    } else {
      op.slot = kFirstInbox + peer;
    }
    ops_.push_back(op);
  }

  void send_results() {
    send_out(partial_step_ + 1, kMerged);
    if (is_direct()) return;
    for (int distance = 1; distance < rule_.ranks; ++distance)
      accept_rows(partial_step_ + 1, from(distance), rows_of(from(distance)).bytes);
  }

  void copy_results() {
    for (int distance = 1; distance < rule_.ranks; ++distance) {
      const int peer = from(distance);
      if (is_direct()) accept_rows(partial_step_ + 1, peer, rows_of(peer).bytes);
      copy_result(partial_step_ + 1, peer);
      if (is_direct()) give_back(partial_step_ + 1, peer, rows_of(peer).bytes);
    }
  }

  void view_results() {
    const std::int32_t step = partial_step_ + 1;
    for (int distance = 1; distance < rule_.ranks; ++distance)
      accept_rows(step, from(distance), rows_of(from(distance)).bytes);
    copy_result(partial_step_, rank_);
    for (int distance = 1; distance < rule_.ranks; ++distance) copy_result(step, from(distance));
    for (int distance = 1; distance < rule_.ranks; ++distance)
      give_back(step, from(distance), rows_of(from(distance)).bytes);
  }

  const SoftmaxRule& rule_;
  std::uint64_t unit_bytes_;   ///< of a row in the exchange of partials
  std::int32_t partial_step_;  ///< of that exchange
  std::vector<std::uint64_t> firsts_;
};

Status check_rule(const SoftmaxRule& rule, std::string_view what) {
  std::uint64_t total = 0;
  if (__builtin_mul_overflow(rule.rows, rule.row_bytes, &total) || total > kBytesMax) {
    return Status::invalid_argument(concat(what, ": ", rule.rows, " rows of ", rule.row_bytes,
                                           " bytes (more than 2^63 - 1 bytes). Is a size negative?"));
  }
  if (rule.statistic_bytes > rule.row_bytes) {
    return Status::invalid_argument(
        concat(what, ": statistics of ", rule.statistic_bytes, " bytes in a row of ", rule.row_bytes));
  }
  if (rule.is_scattered &&
      (rule.algorithm == MergeAlgorithm::one_shot || rule.algorithm == MergeAlgorithm::recursive_doubling))
    return Status::invalid_argument(concat(what, ": one_shot and recursive_doubling give all rows to all"));
  if (rule.leaves_results && (rule.is_scattered || rule.algorithm == MergeAlgorithm::gather_stats ||
                              rule.algorithm == MergeAlgorithm::recursive_doubling)) {
    return Status::invalid_argument(
        concat(what, ": results are left in place by one_shot, two_shot and packed_all_to_all to all ranks"));
  }
  if (rule.counts.empty()) return {};
  std::uint64_t sum = 0;
  for (const std::uint64_t count : rule.counts) {
    if (count > rule.rows - sum) sum = rule.rows + 1;
    if (sum > rule.rows) break;
    sum += count;
  }
  if (rule.counts.size() == static_cast<std::size_t>(rule.ranks) && sum == rule.rows) return {};
  return Status::invalid_argument(concat(what, ": ", rule.counts.size(), " counts for ", rule.ranks,
                                         " ranks do not cut ", rule.rows, " rows"));
}

}  // namespace

std::uint64_t slice_first(std::uint64_t rows, int ranks, int rank) {
  const auto n = static_cast<std::uint64_t>(ranks);
  const auto r = static_cast<std::uint64_t>(rank);
  // rows * r / n would overflow; rows = q n + m gives q r + m r / n with m, r <= n < 2^31.
  return (rows / n) * r + (rows % n) * r / n;
}

Result<RankPlan> softmax_slice(const SoftmaxRule& rule, int rank) {
  const OpCode op = rule.is_scattered ? OpCode::softmax_reduce_scatter : OpCode::softmax_all_reduce;
  RINGCOMM_TRY(check_ranks(name_of(op), rule.ranks, rank));
  RINGCOMM_TRY(check_rule(rule, name_of(op)));
  Fnv signature;
  signature.add(op).add(rule.ranks).add(rule.access).add(rule.algorithm);
  signature.add(rule.rows).add(rule.row_bytes).add(rule.statistic_bytes);
  for (const std::uint64_t count : rule.counts) signature.add(count);
  if (rule.leaves_results) signature.add(rule.leaves_results);
  if (rule.algorithm == MergeAlgorithm::recursive_doubling)
    return doubling_slice(rule, rank, signature.value());
  SoftmaxSlice slice(rule, rank);
  std::vector<Slot> slots = slice.slots();
  return RankPlan{.rank = rank,
                  .ranks = rule.ranks,
                  .op = op,
                  .steps = slice.steps(),
                  .signature = signature.value(),
                  .slots = std::move(slots),
                  .ops = std::move(slice).ops(),
                  .tiles = {}};
}

}  // namespace ringcomm::inline v0::plan
