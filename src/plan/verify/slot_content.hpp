// SPDX-License-Identifier: Apache-2.0
// Follows every block through all slots, so that readers find what they name.
#pragma once

#include <span>

#include "plan/verify/slot_order.hpp"
#include "ringcomm/core/status.hpp"

namespace ringcomm::inline v0::plan {

/// ok when each read finds written bytes, of one block in order, which is the block (and part, and kind) that
/// its operation names; else invalid_argument.
Status check_contents(std::span<const RankPlan> slices, const Lanes& lanes, const WaitGraph& graph,
                      std::span<const Read> reads, const SlotHistory& history);

}  // namespace ringcomm::inline v0::plan
