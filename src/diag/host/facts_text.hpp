// SPDX-License-Identifier: Apache-2.0
// Small grammar of host facts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/diag/host_checks.hpp"

namespace ringcomm::inline v0::diag {

/// As topology::parse_cpu_list(); empty for other text.
std::vector<int> cpu_list(std::string_view text);
/// "0-3,8" again.
std::string list_text(const std::vector<int>& numbers);
/// Variables that a transport, an MPI or NCCL reads.
bool changes_communication(std::string_view name);

/// A check's result; `state` problem is made ok by the caller's condition.
Finding result(std::string_view id, Severity severity, CheckState state, std::string title);
/// ok with `good`, or the problem.
Finding judged(std::string_view id, Severity severity, bool is_problem, std::string title,
               std::string fix = {});
Finding unknown(std::string_view id, Severity severity, const HostFacts& facts, std::string_view name);

}  // namespace ringcomm::inline v0::diag
