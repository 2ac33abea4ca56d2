// SPDX-License-Identifier: Apache-2.0
// An invented /proc and /sys in a temporary directory, removed with the object.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ringcomm::test {

class MadeTree {
 public:
  MadeTree() {
    std::string name = (std::filesystem::temp_directory_path() / "ringcomm_tree_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
    root_ = name;
  }
  ~MadeTree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  MadeTree(const MadeTree&) = delete;
  MadeTree& operator=(const MadeTree&) = delete;

  const std::filesystem::path& root() const { return root_; }
  /// `path` is relative to the root, without a leading slash.
  void write(const std::filesystem::path& path, std::string_view text) const {
    // A new file each time: some file systems flush to disk when an old one is truncated and written again.
    if (!std::filesystem::remove(root_ / path)) {
      std::filesystem::create_directories((root_ / path).parent_path());
    }
    std::ofstream(root_ / path, std::ios::binary) << text;
  }

 private:
  std::filesystem::path root_;
};

}  // namespace ringcomm::test
