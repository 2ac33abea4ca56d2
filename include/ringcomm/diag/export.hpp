// SPDX-License-Identifier: Apache-2.0
// Own flight records in the formats of other tools.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "ringcomm/core/result.hpp"
#include "ringcomm/topology/evidence.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0::diag {

struct ExportedFile {
  std::string name{};  ///< "rank_3.json"
  int rank = 0;
  std::string text{};
};

/// Records (files, or folders of them) as JSON dumps of PyTorch's flight recorder, one per rank of the job:
/// keys and types of version 2.10, so its tools read them. Every channel is a process group, every operation
/// an entry. What is no record is in `unread`; not_found when none is left.
Result<std::vector<ExportedFile>> export_flight_recorder_json(std::span<const std::filesystem::path> paths,
                                                              std::vector<UnreadFile>& unread);

/// Records as one trace for Chrome's about:tracing and Perfetto: a process per rank, with the lanes
/// "communication" (operations, and in them the waits for blocks) and "compute" (the work on each block);
/// sends as asynchronous spans; arrows from a send to the wait that it ended. Times are microseconds since
/// the first entry. Clocks of hosts are taken as they are.
Result<std::string> export_chrome_trace(std::span<const std::filesystem::path> paths,
                                        std::vector<UnreadFile>& unread);

}  // namespace ringcomm::inline v0::diag
#pragma GCC visibility pop
