// SPDX-License-Identifier: Apache-2.0
// The reader that always works: each allowed CPU counts as a core of package 0.
#pragma once

#include <span>
#include <vector>

#include "ringcomm/topology/binding.hpp"

namespace ringcomm::inline v0::topology::affinity_mask {

std::vector<CoreInfo> read_cores(std::span<const int> allowed_cpus);

}  // namespace ringcomm::inline v0::topology::affinity_mask
