// SPDX-License-Identifier: Apache-2.0
// Whether a request for rings over hosts fits together, and what its hosts have in common.
#pragma once

#include <vector>

#include "ringcomm/topology/cluster_rings.hpp"

namespace ringcomm::inline v0::topology {

Status check_cluster(const ClusterRequest& request);
/// The NICs of a host that are near a GPU, ascending.
std::vector<int> rails_of(const ClusterHost& host);
/// [hosts] the rails that rings use, equally many each: with Rails::same_index those that all hosts have,
/// else the first of each host.
std::vector<std::vector<int>> usable_rails(const ClusterRequest& request);
/// [hosts] first global rank.
std::vector<int> first_ranks(const ClusterRequest& request);

}  // namespace ringcomm::inline v0::topology
