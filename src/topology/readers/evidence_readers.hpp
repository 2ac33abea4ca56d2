// SPDX-License-Identifier: Apache-2.0
// The tables of everything that reads evidence. A new reader is one line in evidence_readers.cpp.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "ringcomm/topology/evidence.hpp"
#include "topology/readers/reader.hpp"

namespace ringcomm::inline v0::topology {

/// Reads a directory as a whole (/sys/class/infiniband), as Reader reads a text.
struct TreeReader {
  std::string_view name;
  std::string_view made_by;
  bool (*looks_like)(const std::filesystem::path& directory);
  Result<Reading> (*read)(const std::filesystem::path& directory);
};

/// In the order in which a text is tried.
std::span<const Reader> evidence_readers();
std::span<const TreeReader> evidence_tree_readers();

/// "nccl-log (NCCL_DEBUG=INFO ./program 2>&1), ...": for sentences.
std::string list_of_formats();

}  // namespace ringcomm::inline v0::topology
