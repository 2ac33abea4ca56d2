// SPDX-License-Identifier: Apache-2.0
// Whether a ring is worth using in both directions at once.
#pragma once

#include "ringcomm/topology/ring_order.hpp"

namespace ringcomm::inline v0::topology {

/// Sets `both_directions` and the bandwidth of one of them when two together carry more than one alone. With
/// unknown bandwidths: unless both cross one resource. Never when the way back is of worse levels.
void use_both_directions(const RingGraph& graph, RingOrder& ring);
/// GB/s of all directions in use together.
std::optional<double> total_gb_per_s(const RingOrder& ring);

}  // namespace ringcomm::inline v0::topology
