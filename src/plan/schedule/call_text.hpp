// SPDX-License-Identifier: Apache-2.0
// Calls of a schedule in words.
#pragma once

#include <span>
#include <string>

#include "ringcomm/plan/schedule.hpp"

namespace ringcomm::inline v0::plan {

/// One call of a rank.
struct CallRef {
  std::int32_t rank = kNone;
  std::int32_t index = kNone;
  friend bool operator==(const CallRef&, const CallRef&) = default;
};
inline const ScheduledCall& call_at(const CallSchedule& schedule, CallRef ref) {
  return schedule.calls[static_cast<std::size_t>(ref.rank)][static_cast<std::size_t>(ref.index)];
}

/// The how-manieth call of its rank in its group (send, recv: with that peer) it is, from 1. Linear.
int number_of(const CallSchedule& schedule, CallRef ref);
/// "cp[1] #2 (all_gather, 4096 bytes of bf16, step.py:12)".
std::string describe(const CallSchedule& schedule, CallRef ref);
/// "rank 3", "ranks 1, 2, 5 and 12 more".
std::string ranks_text(std::span<const int> ranks);
/// "[0, 2, 4, ... 9 more]".
std::string members_text(std::span<const int> ranks);
/// What differs between two calls that meet: "all_reduce against broadcast"; empty when they agree.
std::string difference(const CallSchedule& schedule, CallRef a, CallRef b);

}  // namespace ringcomm::inline v0::plan
