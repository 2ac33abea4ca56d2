// SPDX-License-Identifier: Apache-2.0
// What /proc says of the process that writes a record.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "diag/evidence/record/record_view.hpp"
#include "ringcomm/diag/live.hpp"

namespace ringcomm::inline v0::diag {

struct ProcessFacts {
  ProcessState state = ProcessState::unknown;
  double cpu_seconds = 0;
  std::uint64_t resident_high_water_bytes = 0;
  std::string command{};
};
/// Knows a new process of the same number by its start, and a writer in another process-id namespace by its
/// lock on the record.
ProcessFacts process_of(const RecordHeader& header, const std::filesystem::path& record);

}  // namespace ringcomm::inline v0::diag
