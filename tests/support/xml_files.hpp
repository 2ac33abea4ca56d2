// SPDX-License-Identifier: Apache-2.0
// Captured machines beside the project (absent in a checkout of the project alone), and our own small files.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "test_paths.hpp"

namespace ringcomm {

inline std::string shared_topology_file(const std::string& name) {
  return std::string(RINGCOMM_SOURCE_DIR "/../shared/data/topology/") + name;
}
inline std::string own_topology_file(const std::string& name) {
  return std::string(RINGCOMM_SOURCE_DIR "/tests/data/topology/xml/") + name;
}
inline bool has_shared_topology_files() {
  return std::filesystem::is_directory(shared_topology_file("nccl-topo-xml"));
}
inline std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}
/// Replaces the first `from` of `text`, which has to be there.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace ringcomm
