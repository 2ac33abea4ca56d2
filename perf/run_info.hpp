// SPDX-License-Identifier: Apache-2.0
// What rank 0 says about all ranks.
#pragma once

#include <string>

#include "report_table.hpp"
#include "ringcomm/comm/communicator.hpp"

namespace ringcomm::perf {

/// Everybody's host, process, CPUs and paths, on every rank. Collective.
Result<RunInfo> gather_run_info(Communicator& comm, const std::string& launch);

/// "# Memory : ..." of all ranks together: arena and bytes copied. Collective.
Result<std::string> describe_memory(Communicator& comm);

}  // namespace ringcomm::perf
