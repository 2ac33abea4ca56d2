// SPDX-License-Identifier: Apache-2.0
// Spreads the ranks of one host over its cores.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/core/placement.hpp"
#include "ringcomm/core/result.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// One core as planning sees it.
struct CoreInfo {
  int package = 0;
  int memory_node = -1;   ///< -1 unknown
  std::vector<int> cpus;  ///< hardware threads of the core that this process may use
};

/// Cores that the calling thread may use (sched_getaffinity), in hwloc's logical order; without hwloc each
/// allowed CPU is a core of package 0. Never empty. Reads the system anew: a few milliseconds.
std::vector<CoreInfo> discover_cores();
/// "hwloc" or "affinity mask": where discover_cores() reads.
std::string core_source();

/// [local_ranks] placements in rank order: whole cores of one memory node (of several whole nodes, with
/// memory_node -1, when there are fewer ranks than nodes), the smallest share as large as possible. More
/// ranks than cores share cores round-robin. Without cores, or for cores without CPUs, placements are empty
/// ("leave the thread where it is"); local_ranks <= 0 gives none. `cpus` lists the first hardware thread of
/// each core before the second ones. A value: the same for the same input on every rank.
std::vector<Placement> spread_ranks(const std::vector<CoreInfo>& cores, int local_ranks);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
