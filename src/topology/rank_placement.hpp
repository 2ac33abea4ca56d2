// SPDX-License-Identifier: Apache-2.0
// Cores and memory node for the rank of each GPU.
#pragma once

#include <vector>

#include "ringcomm/topology/machine_rings.hpp"

namespace ringcomm::inline v0::topology {

/// [devices]. Ranks of one NUMA node share its cores evenly, hardware threads of a core stay together, and
/// one core per NIC of the node is left for progress while each rank has one. Without known cores every rank
/// gets all near CPUs. Unknown places stay empty.
std::vector<Placement> place_ranks(const Machine& machine, const std::vector<DeviceRef>& devices,
                                   const std::vector<NicChoice>& nics);

}  // namespace ringcomm::inline v0::topology
