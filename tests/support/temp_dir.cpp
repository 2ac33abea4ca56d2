// SPDX-License-Identifier: Apache-2.0
#include "support/temp_dir.hpp"

#include <stdlib.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>

namespace ringcomm::test {

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "ringcomm-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed for " + pattern);
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> TempDir::names() const {
  std::vector<std::string> found;
  for (const auto& item : std::filesystem::recursive_directory_iterator(path_)) {
    found.push_back(std::filesystem::relative(item.path(), path_).string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace ringcomm::test
