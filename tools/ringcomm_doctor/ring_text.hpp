// SPDX-License-Identifier: Apache-2.0
// The best rings: order, slowest edge, NIC and cores of each rank, and why.
#pragma once

#include <string>

#include "ringcomm/diag/topology_checks.hpp"
#include "screen.hpp"

namespace ringcomm::doctor {

std::string ring_text(const TopologyCase& input, const TextStyle& style);

}  // namespace ringcomm::doctor
