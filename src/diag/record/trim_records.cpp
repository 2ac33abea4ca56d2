// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string>

#include "diag/record/record_folder.hpp"
#include "ringcomm/diag/recorder.hpp"

namespace ringcomm::inline v0::diag {
namespace {

namespace fs = std::filesystem;

struct OldFile {
  fs::path path;
  std::string job;  ///< its prefix
  bool is_record = false;
  std::uint64_t bytes = 0;
  std::int64_t changed_ns = 0;
};

/// Records and verdicts, by their names; anything else in the folder is not ours to touch.
std::vector<OldFile> files_of(const fs::path& folder) {
  std::vector<OldFile> files;
  const std::size_t prefix = job_prefix(0).size();
  std::error_code error;
  for (auto at = fs::directory_iterator(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    struct stat facts {};
    if (::lstat(at->path().c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    const bool is_record = parse_name(name).has_value();
    if (!is_record && !is_verdict_name(name)) continue;
    files.push_back({at->path(), name.substr(0, prefix), is_record, static_cast<std::uint64_t>(facts.st_size),
                     facts.st_mtim.tv_sec * std::int64_t{1'000'000'000} + facts.st_mtim.tv_nsec});
  }
  std::sort(files.begin(), files.end(), [](const OldFile& a, const OldFile& b) {
    return a.changed_ns != b.changed_ns ? a.changed_ns < b.changed_ns : a.path < b.path;
  });
  return files;
}

}  // namespace

void trim_records(const fs::path& folder, std::uint64_t keep_bytes) {
  const std::vector<OldFile> files = files_of(folder);
  std::uint64_t total = 0;
  for (const OldFile& file : files) total += file.bytes;
  std::set<std::string> jobs_left;
  std::error_code error;
  for (const OldFile& file : files) {
    if (!file.is_record) continue;
    const bool goes = total > keep_bytes && !is_written_still(file.path) && fs::remove(file.path, error);
    if (goes) {
      total -= file.bytes;
    } else {
      jobs_left.insert(file.job);
    }
  }
  for (const OldFile& file : files) {  // a verdict goes with the last record that it speaks of
    if (!file.is_record && !jobs_left.contains(file.job)) fs::remove(file.path, error);
  }
}

}  // namespace ringcomm::inline v0::diag
