// SPDX-License-Identifier: Apache-2.0
// A directory of a test's own that is gone afterwards, with a look at what was left in it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ringcomm::test {

/// Mode 0700, below the system's temporary directory.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Names of everything below, sorted.
  std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

}  // namespace ringcomm::test
