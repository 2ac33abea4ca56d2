// SPDX-License-Identifier: Apache-2.0
// Folders of records: which there are, whom they let in, and the files in them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diag/record/owned_fd.hpp"
#include "ringcomm/core/result.hpp"

namespace ringcomm::inline v0::diag {

inline constexpr std::string_view kRecordSuffix{".rec"};

/// Who may have rights on a folder besides its owner.
enum class FolderUse : std::uint8_t {
  ours,   ///< named after the user: nobody (mode 0700)
  named,  ///< the user chose it: others may look, not write
};
struct FolderChoice {
  std::filesystem::path path;
  FolderUse use = FolderUse::ours;
  bool must_be_tmpfs = false;  ///< of its parent
};
/// In the order in which they are tried; `named` may be empty.
std::vector<FolderChoice> folder_choices(const std::filesystem::path& named);

/// Makes the folder where there is none and opens it; an error says why it is refused.
Result<OwnedFd> open_folder(const FolderChoice& choice);

/// What a file of a record is called; parse_name() gives it back.
struct RecordName {
  std::uint64_t job = 0, communicator = 0;
  std::int64_t pid = 0;
  int copy = 0;  ///< of several with all else equal
  int rank = 0;
};
std::string to_name(const RecordName& name);
std::optional<RecordName> parse_name(std::string_view file_name);
/// "0123456789abcdef-": what the names of a job's files start with.
std::string job_prefix(std::uint64_t job);
/// The verdict of a job, beside its records.
std::string verdict_name(std::uint64_t job);
bool is_verdict_name(std::string_view file_name);

/// Whether the process that made the record still has it open. Sees across process-id namespaces, and is not
/// fooled by a new process of the same number.
bool is_written_still(const std::filesystem::path& record);

/// Folders that recorders of this process have used; record_folders() names them too.
void remember_folder(const std::filesystem::path& folder);

}  // namespace ringcomm::inline v0::diag
