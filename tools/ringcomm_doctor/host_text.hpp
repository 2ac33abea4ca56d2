// SPDX-License-Identifier: Apache-2.0
// The report of ringcomm-doctor env as text.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/diag/host_checks.hpp"
#include "screen.hpp"

namespace ringcomm::doctor {

/// `facts` of all ranks, at least one.
std::string host_text(const std::vector<HostFacts>& facts, const std::vector<Finding>& findings,
                      int exit_code, const TextStyle& style);

}  // namespace ringcomm::doctor
