// SPDX-License-Identifier: Apache-2.0
#include "diag/record/record_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "core/parse.hpp"
#include "core/small_file.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/recorder.hpp"

namespace ringcomm::inline v0::diag {
namespace {

namespace fs = std::filesystem;

constexpr int kHexDigits = 16;
constexpr std::string_view kVerdictSuffix{"verdict.txt"};
constexpr long kTmpfsMagic = 0x01021994;

Status refused(const fs::path& path, std::string_view why) {
  return Status::not_available(concat(path.string(), ": ", why));
}

std::string error_text(int error) { return std::strerror(error); }

fs::path system_temp() {
  const char* const named = std::getenv("TMPDIR");
  return named != nullptr && *named == '/' ? fs::path(named) : fs::path("/tmp");
}

std::string folder_name() { return concat("ringcomm-", ::geteuid()); }

std::string hex(std::uint64_t value) {
  std::array<char, kHexDigits + 1> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(value));
  return digits.data();
}

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != kHexDigits || error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

Status check_folder(const FolderChoice& choice, const struct stat& facts) {
  if (facts.st_uid != ::geteuid())
    return refused(choice.path, concat("belongs to user ", facts.st_uid, ", not to ", ::geteuid()));
  const mode_t forbidden = choice.use == FolderUse::ours ? S_IRWXG | S_IRWXO : S_IWGRP | S_IWOTH;
  if ((facts.st_mode & forbidden) != 0) {
    return refused(choice.path, choice.use == FolderUse::ours ? "open to other users (mode must be 0700)"
                                                              : "other users may write to it");
  }
  return {};
}

struct UsedFolders {
  std::mutex mutex;
  std::vector<fs::path> paths;
};
// Never destroyed: a recorder may be made while static objects go away at exit.
UsedFolders& used_folders() {
  static auto* folders = new UsedFolders;
  return *folders;
}

}  // namespace

std::vector<FolderChoice> folder_choices(const fs::path& named) {
  std::vector<FolderChoice> choices;
  if (!named.empty()) choices.push_back({named, FolderUse::named});
  choices.push_back({fs::path("/dev/shm") / folder_name(), FolderUse::ours, true});
  choices.push_back({system_temp() / folder_name()});
  return choices;
}

Result<OwnedFd> open_folder(const FolderChoice& choice) {
  if (choice.must_be_tmpfs) {
    struct statfs system {};
    if (::statfs(choice.path.parent_path().c_str(), &system) != 0 || system.f_type != kTmpfsMagic)
      return refused(choice.path, concat(choice.path.parent_path().string(), " is no tmpfs"));
  }
  const bool is_made = ::mkdir(choice.path.c_str(), S_IRWXU) == 0;
  if (!is_made && errno != EEXIST) return refused(choice.path, error_text(errno));
  OwnedFd folder(::open(choice.path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) {
    const bool is_link = errno == ELOOP || errno == ENOTDIR;
    return refused(choice.path, is_link ? "is a link or no folder" : error_text(errno));
  }
  // Whatever the umask took away; on the opened folder, so that nobody can put another one in its place.
  if (is_made && ::fchmod(folder.get(), S_IRWXU) != 0) return refused(choice.path, error_text(errno));
  struct stat facts {};
  if (::fstat(folder.get(), &facts) != 0) return refused(choice.path, error_text(errno));
  if (Status status = check_folder(choice, facts); !status.is_ok()) return status;
  return folder;
}

std::string job_prefix(std::uint64_t job) { return hex(job) + '-'; }

std::string verdict_name(std::uint64_t job) { return concat(job_prefix(job), kVerdictSuffix); }

bool is_verdict_name(std::string_view file_name) {
  return file_name.size() == kHexDigits + 1 + kVerdictSuffix.size() && file_name.ends_with(kVerdictSuffix) &&
         parse_hex(file_name.substr(0, kHexDigits)).has_value();
}

std::string to_name(const RecordName& name) {
  const std::string copy = name.copy == 0 ? std::string() : concat('.', name.copy);
  return concat(job_prefix(name.job), hex(name.communicator), '-', name.pid, copy, "-rank", name.rank,
                kRecordSuffix);
}

std::optional<RecordName> parse_name(std::string_view file_name) {
  if (!file_name.ends_with(kRecordSuffix)) return {};
  file_name.remove_suffix(kRecordSuffix.size());
  const auto parts = split(file_name, '-');
  if (parts.size() != 4 || !parts[3].starts_with("rank")) return {};
  const auto job = parse_hex(parts[0]);
  const auto communicator = parse_hex(parts[1]);
  const std::size_t dot = parts[2].find('.');
  const auto pid = parse_count(parts[2].substr(0, dot));
  const auto copy =
      dot == std::string_view::npos ? std::optional(0) : parse_decimal<int>(parts[2].substr(dot + 1));
  const auto rank = parse_decimal<int>(parts[3].substr(4));
  if (!job || !communicator || !pid || !copy || !rank) return {};
  return RecordName{*job, *communicator, *pid, *copy, *rank};
}

bool is_written_still(const fs::path& record) {
  const OwnedFd file(::open(record.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  return file && ::flock(file.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

void remember_folder(const fs::path& folder) {
  UsedFolders& used = used_folders();
  const std::lock_guard lock(used.mutex);
  if (std::find(used.paths.begin(), used.paths.end(), folder) == used.paths.end())
    used.paths.push_back(folder);
}

std::vector<fs::path> record_folders() {
  std::vector<fs::path> folders;
  const auto take = [&](const fs::path& path) {
    struct stat facts {};
    const bool is_ours =
        ::lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid();
    if (is_ours && std::find(folders.begin(), folders.end(), path) == folders.end()) folders.push_back(path);
  };
  {
    UsedFolders& used = used_folders();
    const std::lock_guard lock(used.mutex);
    for (const fs::path& path : used.paths) take(path);
  }
  if (const auto named = env_text("RINGCOMM_RECORD_DIR"))
    take(*named);  // "off" is no folder of ours as a rule
  for (const FolderChoice& choice : folder_choices({})) take(choice.path);
  return folders;
}

}  // namespace ringcomm::inline v0::diag
