// SPDX-License-Identifier: Apache-2.0
// A machine with its paths and rings written down by hand, so that tests of the text need no reader and no
// planner.
#pragma once

#include "ringcomm/diag/topology_checks.hpp"

namespace ringcomm::test {

/// Two packages with a NUMA node each; GPUs 0,1 and 2,3 joined by two NVLinks, 0-3 and 1-2 by one; a NIC
/// beside each pair and a third one, which is down. Rank order 0 1 2 3 has the edges NV2 NV1 NV2 NV1.
TopologyCase four_gpu_case();

}  // namespace ringcomm::test
