// SPDX-License-Identifier: Apache-2.0
// Slices of broadcast, all-to-all and groups of sends and receives: what moves without a reduction.
#include <utility>

#include "core/try.hpp"
#include "plan/fnv.hpp"
#include "plan/rules/rule_checks.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::plan {
namespace {

constexpr auto kConsume = static_cast<std::uint32_t>(ComputeCode::consume);
constexpr std::int32_t kOwn = 0;
constexpr std::int32_t kResult = 1;

/// Collects one rank's transfers and consumes; reclaims come last.
class Exchange {
 public:
  Exchange(Access access, int rank) : access_(access), rank_(rank) {}
  bool is_direct() const { return access_ == Access::direct_read; }

  void give(int step, int peer, std::uint64_t offset, std::uint64_t bytes) {
    Op op{.kind = is_direct() ? OpKind::offer : OpKind::send,
          .step = step,
          .peer = peer,
          .block = rank_,
          .slot = kOwn,
          .group = is_direct() ? kNone : step,
          .offset = offset,
          .bytes = bytes};
    ops_.push_back(op);
    if (!is_direct()) return;
    op.kind = OpKind::reclaim;
    op.slot = kNone;
    reclaims_.push_back(op);
  }

  /// The block of `peer` goes to `place` of the result.
  void get(int step, int peer, std::uint64_t place, std::uint64_t bytes) {
    Op op{.kind = OpKind::take, .step = step, .peer = peer, .block = peer, .bytes = bytes};
    Op consume = op;
    consume.kind = OpKind::compute;
    consume.code = kConsume;
    consume.offset = place;
    if (is_direct()) {
      consume.target_slot = kResult;
      Op release = op;
      release.kind = OpKind::release;
      ops_.insert(ops_.end(), {op, consume, release});
      return;
    }
    op.kind = OpKind::recv;
    op.slot = kResult;
    op.offset = place;
    op.group = step;
    consume.slot = kResult;
    consume.peer = kNone;
    ops_.insert(ops_.end(), {op, consume});
  }

  void consume_own(std::int32_t target_slot, std::uint64_t offset, std::uint64_t bytes) {
    ops_.push_back({.kind = OpKind::compute,
                    .block = rank_,
                    .slot = kOwn,
                    .target_slot = target_slot,
                    .code = kConsume,
                    .offset = offset,
                    .bytes = bytes});
  }

  std::vector<Op> finish() && {
    ops_.insert(ops_.end(), reclaims_.begin(), reclaims_.end());
    return std::move(ops_);
  }

 private:
  Access access_;
  int rank_;
  std::vector<Op> ops_;
  std::vector<Op> reclaims_;
};

/// [ranks + 1] first byte of every part; the last entry is the sum.
std::vector<std::uint64_t> places(const std::vector<std::uint64_t>& bytes) {
  std::vector<std::uint64_t> firsts{0};
  for (const std::uint64_t part : bytes) firsts.push_back(firsts.back() + part);
  return firsts;
}

Status check_messages(const PointToPointRule& rule) {
  for (const auto& message : rule.messages) {
    if (message.peer < 0 || message.peer >= rule.ranks) {
      return Status::invalid_argument(
          concat("send_recv: ", name_of(message.is_send ? OpKind::send : OpKind::recv), " with member ",
                 message.peer, " of ", rule.ranks));
    }
    if (message.bytes > kBytesMax) {
      return Status::invalid_argument(concat("send_recv: a message of ", message.bytes,
                                             " bytes (above 2^63 - 1). Is the size negative?"));
    }
  }
  return {};
}

/// Pairs the own rank's sends and receives: the k-th with the k-th.
Status add_own_copies(const PointToPointRule& rule, int rank, std::vector<Op>& ops) {
  std::vector<std::size_t> sends;
  std::vector<std::size_t> receives;
  for (std::size_t index = 0; index < rule.messages.size(); ++index) {
    if (rule.messages[index].peer == rank) (rule.messages[index].is_send ? sends : receives).push_back(index);
  }
  if (sends.size() != receives.size()) {
    return Status::invalid_argument(concat("send_recv: rank ", rank, " has ", sends.size(),
                                           " sends to itself and ", receives.size(),
                                           " receives from itself (one call has both)"));
  }
  for (std::size_t k = 0; k < sends.size(); ++k) {
    const std::uint64_t sent = rule.messages[sends[k]].bytes;
    const std::uint64_t received = rule.messages[receives[k]].bytes;
    if (sent != received) {
      return Status::invalid_argument(
          concat("send_recv: rank ", rank, " sends itself ", sent, " bytes and receives ", received));
    }
    ops.push_back({.kind = OpKind::compute,
                   .block = rank,
                   .slot = static_cast<std::int32_t>(sends[k]),
                   .target_slot = static_cast<std::int32_t>(receives[k]),
                   .code = kConsume,
                   .bytes = sent});
  }
  return {};
}

}  // namespace

Result<RankPlan> broadcast_slice(const BroadcastRule& rule, int rank) {
  RINGCOMM_TRY(check_ranks("broadcast", rule.ranks, rank));
  if (rule.root < 0 || rule.root >= rule.ranks) {
    return Status::invalid_argument(concat("broadcast: root ", rule.root, " is outside 0 to ", rule.ranks - 1,
                                           " (", rule.ranks, " ranks)"));
  }
  if (rule.bytes > kBytesMax) {
    return Status::invalid_argument(
        concat("broadcast: a block of ", rule.bytes, " bytes (above 2^63 - 1). Is the size negative?"));
  }
  Fnv signature;
  signature.add(OpCode::broadcast).add(rule.ranks).add(rule.access).add(rule.root).add(rule.bytes);
  Exchange exchange(rule.access, rank);
  const bool is_root = rank == rule.root;
  if (is_root) {
    for (int distance = 1; distance < rule.ranks; ++distance)
      exchange.give(0, (rank + distance) % rule.ranks, 0, rule.bytes);
    exchange.consume_own(kResult, 0, rule.bytes);
  } else {
    exchange.get(0, rule.root, 0, rule.bytes);
  }
  return RankPlan{.rank = rank,
                  .ranks = rule.ranks,
                  .op = OpCode::broadcast,
                  .steps = 1,
                  .signature = signature.value(),
                  .slots = {{SlotKind::own, is_root ? rule.bytes : 0}, {SlotKind::result, rule.bytes}},
                  .ops = std::move(exchange).finish(),
                  .tiles = {}};
}

Result<RankPlan> all_to_all_slice(const AllToAllRule& rule, int rank) {
  constexpr std::string_view kWhat = "all_to_all";
  RINGCOMM_TRY(check_ranks(kWhat, rule.ranks, rank));
  RINGCOMM_TRY_ASSIGN(const std::uint64_t sent, check_blocks(kWhat, rule.ranks, rule.send_bytes));
  RINGCOMM_TRY_ASSIGN(const std::uint64_t received, check_blocks(kWhat, rule.ranks, rule.receive_bytes));
  const auto own = static_cast<std::size_t>(rank);
  if (rule.send_bytes[own] != rule.receive_bytes[own]) {
    return Status::invalid_argument(concat(kWhat, ": rank ", rank, " sends itself ", rule.send_bytes[own],
                                           " bytes and receives ", rule.receive_bytes[own]));
  }
  Fnv signature;
  signature.add(OpCode::all_to_all).add(rule.ranks).add(rule.access);
  const std::vector<std::uint64_t> from_place = places(rule.send_bytes);
  const std::vector<std::uint64_t> to_place = places(rule.receive_bytes);
  Exchange exchange(rule.access, rank);
  const auto to = [&](int step) { return (rank + step) % rule.ranks; };
  const auto give = [&](int step) {
    const auto peer = static_cast<std::size_t>(to(step));
    exchange.give(step, to(step), from_place[peer], rule.send_bytes[peer]);
  };
  for (int step = 1; exchange.is_direct() && step < rule.ranks; ++step) give(step);
  exchange.consume_own(kNone, from_place[own], rule.send_bytes[own]);
  // Pairwise: at step t to rank + t, from rank - t, so that no rank is everybody's target at once.
  for (int step = 1; step < rule.ranks; ++step) {
    if (!exchange.is_direct()) give(step);
    const int peer = (rank - step + rule.ranks) % rule.ranks;
    const auto at = static_cast<std::size_t>(peer);
    exchange.get(step, peer, to_place[at], rule.receive_bytes[at]);
  }
  return RankPlan{.rank = rank,
                  .ranks = rule.ranks,
                  .op = OpCode::all_to_all,
                  .steps = rule.ranks,
                  .signature = signature.value(),
                  .slots = {{SlotKind::own, sent}, {SlotKind::result, received}},
                  .ops = std::move(exchange).finish(),
                  .tiles = {}};
}

Result<RankPlan> point_to_point_slice(const PointToPointRule& rule, int rank) {
  RINGCOMM_TRY(check_ranks("send_recv", rule.ranks, rank));
  RINGCOMM_TRY(check_messages(rule));
  RankPlan slice{.rank = rank,
                 .ranks = rule.ranks,
                 .op = OpCode::send_recv,
                 .steps = 1,
                 .signature = Fnv().add(OpCode::send_recv).add(rule.ranks).value(),
                 .slots = {},
                 .ops = {},
                 .tiles = {}};
  for (std::size_t index = 0; index < rule.messages.size(); ++index) {
    const auto& message = rule.messages[index];
    slice.slots.push_back({message.is_send ? SlotKind::own : SlotKind::result, message.bytes});
    if (message.peer == rank) continue;
    slice.ops.push_back({.kind = message.is_send ? OpKind::send : OpKind::recv,
                         .peer = message.peer,
                         .block = message.is_send ? rank : message.peer,
                         .slot = static_cast<std::int32_t>(index),
                         .group = 0,
                         .bytes = message.bytes});
  }
  RINGCOMM_TRY(add_own_copies(rule, rank, slice.ops));
  return slice;
}

}  // namespace ringcomm::inline v0::plan
