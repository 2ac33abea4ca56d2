// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/affinity_mask.hpp"

namespace ringcomm::inline v0::topology::affinity_mask {

std::vector<CoreInfo> read_cores(std::span<const int> allowed_cpus) {
  std::vector<CoreInfo> cores;
  for (const int cpu : allowed_cpus) cores.push_back({.package = 0, .memory_node = -1, .cpus = {cpu}});
  return cores;
}

}  // namespace ringcomm::inline v0::topology::affinity_mask
