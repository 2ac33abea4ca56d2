// SPDX-License-Identifier: Apache-2.0
// The schedule of one layer's attention as a picture: ranks down, time across.
#pragma once

#include <string>

#include "schedule.hpp"

namespace ringcomm::planner {

inline constexpr int kRanksDrawn = 16;
inline constexpr int kStepsDrawn = 32;

struct TimelineText {
  std::string title{};
  std::string subtitle{};
};
/// Compute and transfer bars of the first kRanksDrawn ranks; a transfer that its rank waits for is red. Says
/// what is left out. A value: the same text for the same schedule.
std::string timeline_svg(const Schedule& schedule, const TimelineText& text);

}  // namespace ringcomm::planner
