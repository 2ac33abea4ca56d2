// SPDX-License-Identifier: Apache-2.0
// Configured against best, and what to set.
#pragma once

#include <string>

#include "ringcomm/diag/topology_checks.hpp"
#include "screen.hpp"

namespace ringcomm::doctor {

std::string compare_text(const TopologyCase& input, const PlanComparison& comparison, const TextStyle& style);

}  // namespace ringcomm::doctor
