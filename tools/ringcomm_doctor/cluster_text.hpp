// SPDX-License-Identifier: Apache-2.0
// Rings over several hosts, when the evidence describes more than one.
#pragma once

#include <string>

#include "ringcomm/diag/topology_checks.hpp"
#include "ringcomm/topology/cluster_rings.hpp"
#include "screen.hpp"

namespace ringcomm::doctor {

std::string cluster_text(const TopologyCase& input, Rails rails, const TextStyle& style);

}  // namespace ringcomm::doctor
