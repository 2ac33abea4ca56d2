// SPDX-License-Identifier: Apache-2.0
// Names an operation in messages, always in the same words.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ringcomm/plan/plan.hpp"

namespace ringcomm::inline v0::plan {

/// One operation of one rank.
struct OpRef {
  std::int32_t rank = 0;
  std::int32_t index = 0;
  friend bool operator==(const OpRef&, const OpRef&) = default;
};

inline const Op& op_at(std::span<const RankPlan> slices, OpRef ref) {
  return slices[static_cast<std::size_t>(ref.rank)].ops[static_cast<std::size_t>(ref.index)];
}

/// "rank 1 operation 7 (pull, step 2, peer 0, block 3, slot 2)".
std::string describe(std::span<const RankPlan> slices, OpRef ref);

inline bool is_transfer(OpKind kind) { return kind != OpKind::compute; }
inline bool is_message(OpKind kind) { return kind == OpKind::send || kind == OpKind::recv; }

}  // namespace ringcomm::inline v0::plan
