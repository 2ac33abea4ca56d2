// SPDX-License-Identifier: Apache-2.0
// The machine as a picture: one box per package with its NUMA nodes, GPUs and NICs.
#pragma once

#include <string>

#include "ringcomm/diag/topology_checks.hpp"
#include "screen.hpp"

namespace ringcomm::doctor {

/// "8 GPUs (sm_90), 8 NICs, 2 NUMA nodes; NVLink: 18 per GPU, through switches"
std::string summary_of(const Machine& machine);
std::string machine_text(const TopologyCase& input, const TextStyle& style);

}  // namespace ringcomm::doctor
