// SPDX-License-Identifier: Apache-2.0
// Findings grouped by cause, what could not be read, and the verdict.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/diag/topology_checks.hpp"
#include "screen.hpp"

namespace ringcomm::doctor {

/// 0 ok, 1 warnings, 2 failures, 3 evidence unreadable.
enum ExitCode : int { kOk = 0, kWarnings = 1, kFailures = 2, kUnreadable = 3, kUsage = 64 };

std::string finding_text(const std::vector<Finding>& findings, const TextStyle& style);
/// Files that were not read, devices beyond the limit of the matrix, lines that were skipped, sources that
/// contradict each other.
std::string unread_text(const TopologyCase& input, const TextStyle& style);
/// One line: counts, the first thing to do, exit code.
std::string verdict_text(const TopologyCase& input, const std::vector<Finding>& findings, int exit_code);

}  // namespace ringcomm::doctor
