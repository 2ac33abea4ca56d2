// SPDX-License-Identifier: Apache-2.0
// What edges carry when several of them cross one resource.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ringcomm/topology/ring_order.hpp"

namespace ringcomm::inline v0::topology {

/// from * size + to of each edge of a ring of vertices; empty for one vertex.
std::vector<int> edges_of(const RingGraph& graph, std::span<const int> ring);
/// The slowest of `edges` while all of them carry data: min(own, resource / edges that cross it). Absent if a
/// number that counts is unknown, and for no edges.
std::optional<double> slowest_edge(const RingGraph& graph, std::span<const int> edges);

}  // namespace ringcomm::inline v0::topology
