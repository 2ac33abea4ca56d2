// SPDX-License-Identifier: Apache-2.0
// The CPUs that the calling thread may run on.
#pragma once

#include <vector>

namespace ringcomm::inline v0 {

/// Operating-system numbers in ascending order; {0} when the system does not say.
std::vector<int> allowed_cpus();

}  // namespace ringcomm::inline v0
