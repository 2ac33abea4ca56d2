// SPDX-License-Identifier: Apache-2.0
// What both exports share: records from paths, and pieces of JSON text.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diag/evidence/record/record_view.hpp"
#include "ringcomm/topology/evidence.hpp"

namespace ringcomm::inline v0::diag {

struct LoadedRecord {
  std::unique_ptr<std::string> bytes;  ///< the view looks into them
  RecordView view;
  int rank;  ///< in the job's first communicator, else in its own
};

/// Sorted by rank, then by communicator.
Result<std::vector<LoadedRecord>> load_records(std::span<const std::filesystem::path> paths,
                                               std::vector<UnreadFile>& unread);

/// In quotation marks.
std::string json_text(std::string_view text);

}  // namespace ringcomm::inline v0::diag
