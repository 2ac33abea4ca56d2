// SPDX-License-Identifier: Apache-2.0
// Spreads the ranks of one host over its cores.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/core/placement.hpp"
#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0 {

/// One core as planning sees it.
struct CoreInfo {
  int package = 0;
  int memory_node = -1;   ///< -1 unknown
  std::vector<int> cpus;  ///< hardware threads of the core that this process may use
};

/// Cores that this process may use, in hwloc's logical order; without hwloc each allowed CPU is a core of
/// package 0.
std::vector<CoreInfo> discover_cores();
/// "hwloc" or "affinity mask": where discover_cores() reads.
std::string core_source();

/// [local_ranks] placements: whole cores, contiguous per memory node, as even as possible; more ranks than
/// cores share cores round-robin. A value, the same for the same input.
std::vector<Placement> spread_ranks(const std::vector<CoreInfo>& cores, int local_ranks);

}  // namespace ringcomm::inline v0
