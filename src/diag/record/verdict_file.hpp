// SPDX-License-Identifier: Apache-2.0
// The verdict beside a job's records: who writes it, and what the others learn from it.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "diag/record/owned_fd.hpp"
#include "ringcomm/diag/verdict.hpp"

namespace ringcomm::inline v0::diag {

/// Elects one of all threads and processes that come for the same file: the first one to get it finds it
/// empty. The others wait until that one has written or died (then one of them takes its place).
class VerdictFile {
 public:
  VerdictFile(std::filesystem::path path, std::chrono::milliseconds patience, std::int64_t newest_record_ns);
  bool is_first() const { return is_first_; }
  const std::filesystem::path& path() const { return path_; }
  void write(const Verdict& verdict, std::string_view text) const;
  /// What the first one wrote: kind, grade, ranks, title.
  Verdict read() const;

 private:
  std::filesystem::path path_;
  OwnedFd file_;
  bool is_locked_ = false, is_first_ = false;
};

}  // namespace ringcomm::inline v0::diag
