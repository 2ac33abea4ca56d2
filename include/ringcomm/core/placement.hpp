// SPDX-License-Identifier: Apache-2.0
// Which CPUs a thread may use and which memory node its pages should come from: plain data.
#pragma once

#include <vector>

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

struct Placement {
  std::vector<int> cpus;  ///< operating-system numbers; empty means "leave the thread where it is"
  int memory_node = -1;   ///< NUMA node's operating-system number; -1 means no preference
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
