// SPDX-License-Identifier: Apache-2.0
#include "diag/record/plan_code.hpp"

#include <algorithm>
#include <cstring>

namespace ringcomm::inline v0::diag {
namespace {

template <class T>
void append(std::span<std::byte>& room, const T& value) {
  std::memcpy(room.data(), &value, sizeof value);
  room = room.subspan(sizeof value);
}

template <class T>
bool take(std::span<const std::byte>& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes = bytes.subspan(sizeof value);
  return true;
}

PlanOpCode code_of(const plan::Op& op) {
  PlanOpCode code{};
  code.kind = static_cast<std::uint8_t>(op.kind);
  code.stream = static_cast<std::uint8_t>(op.stream);
  code.code = static_cast<std::uint16_t>(op.code);
  code.step = op.step;
  code.peer = op.peer;
  code.block = op.block;
  code.slot = op.slot;
  code.target_slot = op.target_slot;
  code.group = op.group;
  code.after = op.after;
  code.offset = op.offset;
  code.bytes = op.bytes;
  return code;
}

plan::Op op_of(const PlanOpCode& code) {
  return {.kind = static_cast<plan::OpKind>(code.kind),
          .stream = static_cast<plan::StreamRole>(code.stream),
          .step = code.step,
          .peer = code.peer,
          .block = code.block,
          .slot = code.slot,
          .target_slot = code.target_slot,
          .group = code.group,
          .after = code.after,
          .code = code.code,
          .offset = code.offset,
          .bytes = code.bytes};
}

bool is_sound(const PlanCode& code, std::size_t bytes) {
  const std::uint64_t needed = sizeof(PlanCode) + std::uint64_t{code.slots} * sizeof(PlanSlotCode) +
                               std::uint64_t{code.ops} * sizeof(PlanOpCode);
  return code.bytes <= bytes && code.bytes >= needed && code.bytes % 8 == 0;
}

}  // namespace

std::size_t encode_plan(std::uint32_t channel, std::uint64_t signature, const plan::RankPlan& slice,
                        std::span<std::byte> room) noexcept {
  const std::size_t wanted =
      sizeof(PlanCode) + slice.slots.size() * sizeof(PlanSlotCode) + slice.ops.size() * sizeof(PlanOpCode);
  // One long plan must not leave nothing to the others.
  const std::size_t limit = wanted <= room.size() / 4 ? wanted : room.size() / 4;
  if (limit < sizeof(PlanCode)) return 0;
  const std::size_t slots = std::min(slice.slots.size(), (limit - sizeof(PlanCode)) / sizeof(PlanSlotCode));
  const std::size_t behind = sizeof(PlanCode) + slots * sizeof(PlanSlotCode);
  const std::size_t ops = std::min(slice.ops.size(), (limit - behind) / sizeof(PlanOpCode));
  PlanCode code{};
  code.bytes = static_cast<std::uint32_t>(behind + ops * sizeof(PlanOpCode));
  code.channel = channel;
  code.signature = signature;
  code.op = static_cast<std::uint16_t>(slice.op);
  code.rank = slice.rank;
  code.ranks = slice.ranks;
  code.steps = slice.steps;
  code.slots = static_cast<std::uint32_t>(slots);
  code.ops = static_cast<std::uint32_t>(ops);
  code.slots_left_out = static_cast<std::uint32_t>(slice.slots.size() - slots);
  code.ops_left_out = static_cast<std::uint32_t>(slice.ops.size() - ops);
  append(room, code);
  for (std::size_t i = 0; i < slots; ++i)
    append(room, PlanSlotCode{slice.slots[i].bytes, static_cast<std::uint32_t>(slice.slots[i].kind), 0});
  for (std::size_t i = 0; i < ops; ++i) append(room, code_of(slice.ops[i]));
  return code.bytes;
}

bool has_plan(std::span<const std::byte> plans, std::uint32_t channel, std::uint64_t signature) noexcept {
  PlanCode code{};
  for (auto rest = plans; take(rest, code) && is_sound(code, rest.size() + sizeof code);
       rest = rest.subspan(code.bytes - sizeof code)) {
    if (code.channel == channel && code.signature == signature) return true;
  }
  return false;
}

std::optional<DecodedPlan> decode_plan(std::span<const std::byte> plans) {
  DecodedPlan plan;
  PlanCode& code = plan.code;
  if (!take(plans, code) || !is_sound(code, plans.size() + sizeof code)) return {};
  plan.slice.rank = code.rank;
  plan.slice.ranks = code.ranks;
  plan.slice.op = static_cast<OpCode>(code.op);
  plan.slice.steps = code.steps;
  plan.slice.signature = code.signature;
  PlanSlotCode slot{};
  for (std::uint32_t i = 0; i < code.slots && take(plans, slot); ++i) {
    if (slot.kind > static_cast<std::uint32_t>(plan::SlotKind::result)) return {};
    plan.slice.slots.push_back({static_cast<plan::SlotKind>(slot.kind), slot.bytes});
  }
  PlanOpCode op{};
  for (std::uint32_t i = 0; i < code.ops && take(plans, op); ++i) {
    if (op.kind > static_cast<std::uint8_t>(plan::OpKind::compute) || op.stream > 1) return {};
    plan.slice.ops.push_back(op_of(op));
  }
  return plan;
}

}  // namespace ringcomm::inline v0::diag
