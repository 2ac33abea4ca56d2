// SPDX-License-Identifier: Apache-2.0
// The graphs that the ring planner is timed on.
#pragma once

#include <random>

#include "ringcomm/topology/cluster_rings.hpp"

namespace ringcomm::perf {

using Random = std::mt19937;

enum class Levels : std::uint8_t { two_way, one_way };

/// Every edge has a random level of so many.
RingGraph random_graph(Random& random, int size, int levels, Levels kind);
/// Nodes of 8 GPUs in a cube mesh (levels: two NVLinks, one, none), level 3 between nodes, vertices shuffled.
RingGraph shuffled_cube_meshes(Random& random, int nodes);
/// Every two vertices joined by so many links.
RingGraph linked_graph(int size, int links);
/// Hosts of 8 GPUs behind a switch, one NIC each.
ClusterRequest switched_hosts(int hosts, int kv_heads);

}  // namespace ringcomm::perf
