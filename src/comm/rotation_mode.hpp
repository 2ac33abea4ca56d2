// SPDX-License-Identifier: Apache-2.0
// Direct or relay: which rotation keeps the links between memory nodes and packages less busy.
#pragma once

#include <span>
#include <vector>

#include "comm/places.hpp"

namespace ringcomm::inline v0::comm {

/// True if moving every block round the ring `order` (each boundary crossed by one block a step, every block
/// written once more) takes less time than reading each in its owner's memory (at step t every rank reads t
/// places back, over whatever lies between). Topology spec 2.5: an edge has min(own, shared / crossing).
/// False unless both speeds were measured: what is not known decides nothing. `between` is taken for all that
/// the two packages can exchange.
bool relay_is_faster(std::span<const Place> places, const std::vector<int>& order,
                     const MeasuredSpeeds& speeds);

}  // namespace ringcomm::inline v0::comm
