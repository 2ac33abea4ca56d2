// SPDX-License-Identifier: Apache-2.0
// What follows the cells of a GPU's row in `nvidia-smi topo -m`: CPU list, NUMA list, NUMA node of its
// memory.
#pragma once

#include <vector>

#include "topology/readers/smi_table.hpp"

namespace ringcomm::inline v0::topology {

/// Fills cpus, numa_node and memory_numa_node of the GPUs (`gpus[i]`: position in the machine of row i's
/// device, or -1) and the NUMA nodes that follow from them.
void read_affinity(const SmiTable& table, const std::vector<int>& gpus, Reading& reading);

}  // namespace ringcomm::inline v0::topology
