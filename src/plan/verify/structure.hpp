// SPDX-License-Identifier: Apache-2.0
// What must hold of each operation alone, so that the rest of the verifier may index without looking.
#pragma once

#include <span>

#include "ringcomm/core/status.hpp"
#include "ringcomm/plan/plan.hpp"

namespace ringcomm::inline v0::plan {

/// Slices in rank order, of one operation; peers, blocks, steps, slots, byte ranges, groups, `after` and tile
/// ranges inside their bounds; no write to an own slot; all transfers of a slice on one queue, because a
/// channel serves one thread at a time and a lane's order must be defined.
Status check_structure(std::span<const RankPlan> slices);

}  // namespace ringcomm::inline v0::plan
