// SPDX-License-Identifier: Apache-2.0
// Slices of the ring rotation: checks, the direct form, and the choice between the forms.
#include "plan/rules/rotation.hpp"

#include <algorithm>

#include "core/try.hpp"
#include "plan/fnv.hpp"
#include "plan/rules/direct_read.hpp"
#include "plan/rules/rule_checks.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::plan {
namespace {

constexpr std::string_view kWhat = "ring rotation";

Status check_shape(const RotationRule& rule) {
  if (rule.direction != 1 && rule.direction != -1) {
    return Status::invalid_argument(concat(kWhat, ": direction is ", rule.direction, " (+1 or -1)"));
  }
  const auto ranks = static_cast<std::size_t>(rule.ranks);
  if (!rule.needed.empty() && rule.needed.size() != ranks * ranks) {
    return Status::invalid_argument(concat(kWhat, ": needed has ", rule.needed.size(), " entries for ",
                                           rule.ranks, " ranks (none, or ", ranks * ranks, ")"));
  }
  if (rule.mode == RotationMode::direct && rule.access == Access::two_sided) {
    return Status::invalid_argument(concat(
        kWhat, ": mode direct over two-sided access (peers' memory cannot be read in place). Use relay"));
  }
  return {};
}

Status check_order(const RotationRule& rule) {
  if (rule.order.empty()) return {};
  const auto ranks = static_cast<std::size_t>(rule.ranks);
  if (rule.order.size() != ranks) {
    return Status::invalid_argument(concat(kWhat, ": order has ", rule.order.size(), " entries for ",
                                           rule.ranks, " ranks (none, or one for each)"));
  }
  std::vector<bool> seen(ranks);
  for (const int rank : rule.order) {
    if (rank < 0 || rank >= rule.ranks || seen[static_cast<std::size_t>(rank)]) {
      return Status::invalid_argument(concat(kWhat, ": order names rank ", rank, ", which is no rank of ",
                                             rule.ranks, " or is there twice"));
    }
    seen[static_cast<std::size_t>(rank)] = true;
  }
  return {};
}

Status check_chunks(const RotationRule& rule) {
  if (rule.mode == RotationMode::direct) return {};
  for (int owner = 0; owner < rule.ranks; ++owner) {
    if (RotationView(rule, 0).chunk_count(owner) <= kChunksMax) continue;
    return Status::invalid_argument(concat(
        kWhat, ": chunk_bytes ", rule.chunk_bytes, " cuts the block of rank ", owner, " (",
        rule.block_bytes[static_cast<std::size_t>(owner)], " bytes) into more than ", kChunksMax, " chunks"));
  }
  return {};
}

std::uint64_t signature_of(const RotationRule& rule) {
  Fnv fnv;
  fnv.add(OpCode::ring_rotate).add(rule.ranks).add(rule.access).add(rule.mode).add(rule.overlap);
  fnv.add(rule.direction).add(rule.block_bytes).add(rule.chunk_bytes);
  fnv.add(rule.needed.size());
  for (const std::uint8_t flag : rule.needed) fnv.add(flag != 0);
  if (!rule.order.empty()) fnv.add(rule.order);
  return fnv.value();
}

std::vector<Op> direct_ops(const RotationView& view) {
  DirectReads reads(view.rank(), kNone);
  for (int step = 1; step < view.ranks(); ++step) {
    const int reader = view.reader_at(step);
    if (view.needs(reader, view.rank())) reads.offer(step, reader, view.bytes(view.rank()));
  }
  if (view.needs(view.rank(), view.rank())) reads.consume_own(view.bytes(view.rank()));
  for (int step = 1; step < view.ranks(); ++step) {
    const int owner = view.owner_at(step);
    if (view.needs(view.rank(), owner)) reads.consume(step, owner, view.bytes(owner));
  }
  return std::move(reads).finish();
}

}  // namespace

int RotationView::owner_at(int step) const { return member(place_, -step); }
int RotationView::reader_at(int step) const { return member(place_, step); }

int RotationView::place_of(int rank) const {
  if (rule_.order.empty()) return rank;
  return static_cast<int>(std::ranges::find(rule_.order, rank) - rule_.order.begin());
}

int RotationView::member(int place, int offset) const {
  const int there = (((place + offset * rule_.direction) % ranks()) + ranks()) % ranks();
  return rule_.order.empty() ? there : rule_.order[static_cast<std::size_t>(there)];
}

std::uint64_t RotationView::bytes(int owner) const {
  return rule_.block_bytes[static_cast<std::size_t>(owner)];
}

bool RotationView::needs(int reader, int owner) const {
  if (rule_.needed.empty()) return true;
  const auto row = static_cast<std::size_t>(reader) * static_cast<std::size_t>(ranks());
  return rule_.needed[row + static_cast<std::size_t>(owner)] != 0;
}

int RotationView::hops(int owner) const {
  const int place = place_of(owner);
  for (int hop = ranks() - 1; hop > 0; --hop) {
    if (needs(member(place, hop), owner)) return hop;
  }
  return 0;
}

std::uint64_t RotationView::chunk_count(int owner) const {
  const std::uint64_t size = bytes(owner);
  if (size == 0 || rule_.chunk_bytes == 0) return 1;
  return (size - 1) / rule_.chunk_bytes + 1;
}

Result<RankPlan> rotation_slice(const RotationRule& rule, int rank) {
  RINGCOMM_TRY(check_ranks(kWhat, rule.ranks, rank));
  RINGCOMM_TRY(check_shape(rule));
  RINGCOMM_TRY(check_order(rule));
  RINGCOMM_TRY(check_blocks(kWhat, rule.ranks, rule.block_bytes).status());
  RINGCOMM_TRY(check_chunks(rule));
  const RotationView view(rule, rank);
  RankPlan slice{.rank = rank,
                 .ranks = rule.ranks,
                 .op = OpCode::ring_rotate,
                 .steps = rule.ranks,
                 .signature = signature_of(rule),
                 .slots = {{SlotKind::own, view.bytes(rank)}},
                 .ops = {},
                 .tiles = {}};
  if (rule.mode == RotationMode::direct) {
    slice.ops = direct_ops(view);
    return slice;
  }
  std::uint64_t largest = 0;
  for (int step = 1; step < rule.ranks; ++step) {
    const int owner = view.owner_at(step);
    if (step <= view.hops(owner)) largest = std::max(largest, view.bytes(owner));
  }
  slice.slots.resize(3, {SlotKind::arena, largest});
  slice.ops = rule.access == Access::direct_read ? relay_by_pull(view) : relay_by_message(view);
  return slice;
}

}  // namespace ringcomm::inline v0::plan
