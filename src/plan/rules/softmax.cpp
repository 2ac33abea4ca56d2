// SPDX-License-Identifier: Apache-2.0
// Slices of softmax_all_reduce: an exchange of partials, one merge, and (two-shot) an exchange of results.
#include <algorithm>
#include <utility>

#include "core/try.hpp"
#include "plan/fnv.hpp"
#include "plan/rules/rule_checks.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::plan {
namespace {

constexpr std::int32_t kPartial = 0;
constexpr std::int32_t kMerged = 1;
constexpr std::int32_t kFirstInbox = 2;

struct Range {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

class SoftmaxSlice {
 public:
  SoftmaxSlice(const SoftmaxRule& rule, int rank) : rule_(rule), rank_(rank) {}

  std::vector<Slot> slots() const {
    std::vector<Slot> slots{{SlotKind::own, rule_.rows * rule_.row_bytes},
                            {SlotKind::result, rows_of(rank_).bytes}};
    if (is_direct()) return slots;
    for (int peer = 0; peer < rule_.ranks; ++peer) {
      const std::uint64_t largest = std::max(rows_of(rank_).bytes, rows_of(peer).bytes);
      slots.push_back({SlotKind::arena, peer == rank_ ? 0 : largest});
    }
    return slots;
  }

  std::vector<Op> ops() && {
    send_out(0, kPartial);
    for (int distance = 1; distance < rule_.ranks; ++distance)
      accept(0, from(distance), rows_of(rank_).bytes);
    merge();
    if (is_direct()) {
      for (int distance = 1; distance < rule_.ranks; ++distance)
        give_back(0, from(distance), rows_of(rank_).bytes);
    }
    const std::vector<Op> reclaims_of_partial = std::exchange(reclaims_, {});
    if (is_two_shot()) send_results();
    // Results may lie where the partial lies: nothing is written before its last reader has given it back.
    ops_.insert(ops_.end(), reclaims_of_partial.begin(), reclaims_of_partial.end());
    copy_result(0, rank_);
    if (is_two_shot()) copy_results();
    ops_.insert(ops_.end(), reclaims_.begin(), reclaims_.end());
    return std::move(ops_);
  }

 private:
  bool is_direct() const { return rule_.access == Access::direct_read; }
  bool is_two_shot() const { return rule_.algorithm == MergeAlgorithm::two_shot; }
  int to(int distance) const { return (rank_ + distance) % rule_.ranks; }
  int from(int distance) const { return (rank_ - distance + rule_.ranks) % rule_.ranks; }

  /// The rows that `rank` merges.
  Range rows_of(int rank) const {
    if (!is_two_shot()) return {0, rule_.rows * rule_.row_bytes};
    const std::uint64_t first = slice_first(rule_.rows, rule_.ranks, rank);
    const std::uint64_t end = slice_first(rule_.rows, rule_.ranks, rank + 1);
    return {first * rule_.row_bytes, (end - first) * rule_.row_bytes};
  }

  /// Everybody gets the rows that it merges (of the partial), or all merged rows of this rank.
  void send_out(int step, std::int32_t slot) {
    for (int distance = 1; distance < rule_.ranks; ++distance) {
      const int peer = to(distance);
      const Range range = slot == kPartial ? rows_of(peer) : Range{0, rows_of(rank_).bytes};
      Op op{.kind = is_direct() ? OpKind::offer : OpKind::send,
            .step = step,
            .peer = peer,
            .block = rank_,
            .slot = slot,
            .group = is_direct() ? kNone : step,
            .offset = range.offset,
            .bytes = range.bytes};
      ops_.push_back(op);
      if (!is_direct()) continue;
      op.kind = OpKind::reclaim;
      op.slot = kNone;
      reclaims_.push_back(op);
    }
  }

  void accept(int step, int peer, std::uint64_t bytes) {
    Op op{.kind = OpKind::take, .step = step, .peer = peer, .block = peer, .bytes = bytes};
    if (!is_direct()) {
      op.kind = OpKind::recv;
      op.slot = kFirstInbox + peer;
      op.group = step;
    }
    ops_.push_back(op);
  }

  void give_back(int step, int peer, std::uint64_t bytes) {
    ops_.push_back({.kind = OpKind::release, .step = step, .peer = peer, .block = peer, .bytes = bytes});
  }

  void merge() {
    const Range range = rows_of(rank_);
    ops_.push_back({.kind = OpKind::compute,
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
    send_out(1, kMerged);
    if (is_direct()) return;
    for (int distance = 1; distance < rule_.ranks; ++distance)
      accept(1, from(distance), rows_of(from(distance)).bytes);
  }

  void copy_results() {
    for (int distance = 1; distance < rule_.ranks; ++distance) {
      const int peer = from(distance);
      if (is_direct()) accept(1, peer, rows_of(peer).bytes);
      copy_result(1, peer);
      if (is_direct()) give_back(1, peer, rows_of(peer).bytes);
    }
  }

  const SoftmaxRule& rule_;
  int rank_;
  std::vector<Op> ops_;
  std::vector<Op> reclaims_;
};

}  // namespace

std::uint64_t slice_first(std::uint64_t rows, int ranks, int rank) {
  const auto n = static_cast<std::uint64_t>(ranks);
  const auto r = static_cast<std::uint64_t>(rank);
  // rows * r / n would overflow; rows = q n + m gives q r + m r / n with m, r <= n < 2^31.
  return (rows / n) * r + (rows % n) * r / n;
}

Result<RankPlan> softmax_slice(const SoftmaxRule& rule, int rank) {
  constexpr std::string_view kWhat = "softmax_all_reduce";
  RINGCOMM_TRY(check_ranks(kWhat, rule.ranks, rank));
  std::uint64_t total = 0;
  if (__builtin_mul_overflow(rule.rows, rule.row_bytes, &total) || total > kBytesMax) {
    return Status::invalid_argument(concat(kWhat, ": ", rule.rows, " rows of ", rule.row_bytes,
                                           " bytes (more than 2^63 - 1 bytes). Is a size negative?"));
  }
  Fnv signature;
  signature.add(OpCode::softmax_all_reduce).add(rule.ranks).add(rule.access).add(rule.algorithm);
  signature.add(rule.rows).add(rule.row_bytes);
  SoftmaxSlice slice(rule, rank);
  std::vector<Slot> slots = slice.slots();
  return RankPlan{.rank = rank,
                  .ranks = rule.ranks,
                  .op = OpCode::softmax_all_reduce,
                  .steps = rule.algorithm == MergeAlgorithm::two_shot ? 2 : 1,
                  .signature = signature.value(),
                  .slots = std::move(slots),
                  .ops = std::move(slice).ops(),
                  .tiles = {}};
}

}  // namespace ringcomm::inline v0::plan
