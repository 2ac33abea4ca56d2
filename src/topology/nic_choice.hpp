// SPDX-License-Identifier: Apache-2.0
// Which NIC each GPU uses, and which NICs nobody should (topology spec 2.7).
#pragma once

#include <vector>

#include "ringcomm/topology/machine_rings.hpp"

namespace ringcomm::inline v0::topology {

/// [nics] in the machine's order: those that are left out, with the first reason that holds.
std::vector<ExcludedNic> exclude_nics(const Machine& machine, const PathMatrix& paths);

/// [gpus]. Minimum-cost matching per host over the NICs that are left: each NIC serves at most
/// ceil(GPUs / NICs) GPUs.
std::vector<NicChoice> choose_nics(const Machine& machine, const PathMatrix& paths,
                                   const std::vector<ExcludedNic>& excluded);

}  // namespace ringcomm::inline v0::topology
