// SPDX-License-Identifier: Apache-2.0
// Records that lie in this user's folders, read while their ranks may run.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diag/evidence/record/record_view.hpp"
#include "diag/record/process_facts.hpp"

namespace ringcomm::inline v0::diag {

struct LiveRecord {
  std::filesystem::path path;
  std::string bytes;
  RecordView view;  ///< of `bytes`
  ProcessFacts process;
};
/// Pointers, because views point into their bytes. Null (and `why`) where the file cannot be read.
std::unique_ptr<LiveRecord> read_live_record(const std::filesystem::path& path, Status& why);

/// A file of this user, whole; at most 1 GiB.
Result<std::string> read_own_file(const std::filesystem::path& path);

/// Files of records in `folders`, of one job where one is given; sorted.
std::vector<std::filesystem::path> record_files(std::span<const std::filesystem::path> folders,
                                                std::optional<std::uint64_t> job);

/// As evidence, with what /proc says.
void append_live_facts(const LiveRecord& record, HangEvidence& evidence);

/// What the watchdog explains: two readings `apart`.
HangEvidence evidence_of_hang(std::span<const std::filesystem::path> records,
                              std::chrono::milliseconds apart);

}  // namespace ringcomm::inline v0::diag
