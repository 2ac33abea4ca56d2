// SPDX-License-Identifier: Apache-2.0
// Slices of the all-gather and the barrier: one exchange between all pairs, without relay.
#include "core/try.hpp"
#include "plan/fnv.hpp"
#include "plan/rules/direct_read.hpp"
#include "plan/rules/rule_checks.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::plan {
namespace {

int member(int index, int ranks) { return ((index % ranks) + ranks) % ranks; }

/// [ranks] first byte of every block in the gathered output.
std::vector<std::uint64_t> places(const std::vector<std::uint64_t>& block_bytes) {
  std::vector<std::uint64_t> firsts;
  std::uint64_t sum = 0;
  for (const std::uint64_t bytes : block_bytes) {
    firsts.push_back(sum);
    sum += bytes;
  }
  return firsts;
}

std::vector<Op> gather_by_reading(const AllGatherRule& rule, int rank) {
  const std::vector<std::uint64_t> first = places(rule.block_bytes);
  const auto own = static_cast<std::size_t>(rank);
  DirectReads reads(rank, 1);
  for (int step = 1; step < rule.ranks; ++step)
    reads.offer(step, member(rank + step, rule.ranks), rule.block_bytes[own]);
  reads.consume_own(rule.block_bytes[own], first[own]);
  for (int step = 1; step < rule.ranks; ++step) {
    const int owner = member(rank - step, rule.ranks);
    const auto at = static_cast<std::size_t>(owner);
    reads.consume(step, owner, rule.block_bytes[at], first[at]);
  }
  return std::move(reads).finish();
}

/// Pairwise: at step t to rank + t, from rank - t, so that no rank is everybody's target at once.
std::vector<Op> gather_by_message(const AllGatherRule& rule, int rank) {
  const std::vector<std::uint64_t> first = places(rule.block_bytes);
  const auto own = static_cast<std::size_t>(rank);
  const auto consume = static_cast<std::uint32_t>(ComputeCode::consume);
  std::vector<Op> ops{{.kind = OpKind::compute,
                       .block = rank,
                       .slot = 0,
                       .target_slot = 1,
                       .code = consume,
                       .offset = first[own],
                       .bytes = rule.block_bytes[own]}};
  for (int step = 1; step < rule.ranks; ++step) {
    const int owner = member(rank - step, rule.ranks);
    const Op send{.kind = OpKind::send,
                  .step = step,
                  .peer = member(rank + step, rule.ranks),
                  .block = rank,
                  .slot = 0,
                  .group = step - 1,
                  .bytes = rule.block_bytes[own]};
    const Op recv{.kind = OpKind::recv,
                  .step = step,
                  .peer = owner,
                  .block = owner,
                  .slot = 1,
                  .group = step - 1,
                  .offset = first[static_cast<std::size_t>(owner)],
                  .bytes = rule.block_bytes[static_cast<std::size_t>(owner)]};
    Op compute = recv;
    compute.kind = OpKind::compute;
    compute.peer = compute.group = kNone;
    compute.code = consume;
    ops.insert(ops.end(), {send, recv, compute});
  }
  return ops;
}

std::vector<Op> meet_by_message(int ranks, int rank) {
  std::vector<Op> ops;
  for (int distance = 1; distance < ranks; ++distance) {
    const int to = member(rank + distance, ranks);
    const int from = member(rank - distance, ranks);
    ops.push_back({.kind = OpKind::send, .peer = to, .block = rank, .slot = 0, .group = 0});
    ops.push_back({.kind = OpKind::recv, .peer = from, .block = from, .slot = 1, .group = 0});
  }
  return ops;
}

/// All takes come before any release, so that a timeout can name everybody who has not arrived.
std::vector<Op> meet_by_offer(int ranks, int rank) {
  std::vector<Op> ops;
  const auto add = [&](OpKind kind, int peer, int block, int slot) {
    ops.push_back({.kind = kind, .peer = peer, .block = block, .slot = slot});
  };
  for (int distance = 1; distance < ranks; ++distance)
    add(OpKind::offer, member(rank + distance, ranks), rank, 0);
  for (const OpKind kind : {OpKind::take, OpKind::release}) {
    for (int distance = 1; distance < ranks; ++distance) {
      const int from = member(rank - distance, ranks);
      add(kind, from, from, kNone);
    }
  }
  for (int distance = 1; distance < ranks; ++distance)
    add(OpKind::reclaim, member(rank + distance, ranks), rank, kNone);
  return ops;
}

}  // namespace

Result<RankPlan> all_gather_slice(const AllGatherRule& rule, int rank) {
  constexpr std::string_view kWhat = "all-gather";
  RINGCOMM_TRY(check_ranks(kWhat, rule.ranks, rank));
  RINGCOMM_TRY_ASSIGN(const std::uint64_t total, check_blocks(kWhat, rule.ranks, rule.block_bytes));
  Fnv signature;
  signature.add(OpCode::all_gather).add(rule.ranks).add(rule.access).add(rule.block_bytes);
  return RankPlan{
      .rank = rank,
      .ranks = rule.ranks,
      .op = OpCode::all_gather,
      .steps = rule.ranks,
      .signature = signature.value(),
      .slots = {{SlotKind::own, rule.block_bytes[static_cast<std::size_t>(rank)]}, {SlotKind::result, total}},
      .ops =
          rule.access == Access::direct_read ? gather_by_reading(rule, rank) : gather_by_message(rule, rank),
      .tiles = {}};
}

Result<RankPlan> barrier_slice(const BarrierRule& rule, int rank) {
  RINGCOMM_TRY(check_ranks("barrier", rule.ranks, rank));
  Fnv signature;
  signature.add(OpCode::barrier).add(rule.ranks).add(rule.access);
  const bool is_direct = rule.access == Access::direct_read;
  RankPlan slice{.rank = rank,
                 .ranks = rule.ranks,
                 .op = OpCode::barrier,
                 .steps = 1,
                 .signature = signature.value(),
                 .slots = {{SlotKind::own, 0}},
                 .ops = is_direct ? meet_by_offer(rule.ranks, rank) : meet_by_message(rule.ranks, rank),
                 .tiles = {}};
  if (!is_direct) slice.slots.push_back({SlotKind::arena, 0});
  return slice;
}

}  // namespace ringcomm::inline v0::plan
