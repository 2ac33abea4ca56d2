// SPDX-License-Identifier: Apache-2.0
// A rank's slice of a plan as bytes of a record (docs/record-format.md, "Plans").
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "ringcomm/plan/plan.hpp"

namespace ringcomm::inline v0::diag {

/// In front of each plan; `bytes` (this included, a multiple of 8) leads to the next one. Then come `slots`
/// PlanSlotCode and `ops` PlanOpCode; tiles are left out.
struct PlanCode {
  std::uint32_t bytes;
  std::uint32_t channel;
  std::uint64_t signature;
  std::uint16_t op;
  std::uint16_t reserved;
  std::int32_t rank, ranks, steps;
  std::uint32_t slots, ops;                    ///< that follow
  std::uint32_t slots_left_out, ops_left_out;  ///< for which there was no room
};
static_assert(sizeof(PlanCode) == 48);

struct PlanSlotCode {
  std::uint64_t bytes;
  std::uint32_t kind, reserved;
};

struct PlanOpCode {
  std::uint8_t kind, stream;
  std::uint16_t code;
  std::int32_t step, peer, block, slot, target_slot, group, after;
  std::uint64_t offset, bytes;
};
static_assert(sizeof(PlanOpCode) == 48);

/// Writes it to the beginning of `room`, as much of it as fits in a quarter of what is left; returns how many
/// bytes, 0 when there is no room for any.
std::size_t encode_plan(std::uint32_t channel, std::uint64_t signature, const plan::RankPlan& slice,
                        std::span<std::byte> room) noexcept;
bool has_plan(std::span<const std::byte> plans, std::uint32_t channel, std::uint64_t signature) noexcept;

struct DecodedPlan {
  PlanCode code{};
  plan::RankPlan slice{};
};
/// The plan at the beginning of `plans`; nothing where the bytes are none.
std::optional<DecodedPlan> decode_plan(std::span<const std::byte> plans);

}  // namespace ringcomm::inline v0::diag
