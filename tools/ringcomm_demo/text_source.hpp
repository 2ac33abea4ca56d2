// SPDX-License-Identifier: Apache-2.0
// The demo's input: bytes of a real text, one token each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "ringcomm/core/result.hpp"

namespace ringcomm::demo {

struct Text {
  std::string bytes;
  std::string name;  ///< where it comes from, for the screen
};

/// Reads `file`; empty: the GPL-3 text that Debian installs, else this repository's own documents, one after
/// another. invalid_argument names the file and both lengths when it has fewer than `tokens` bytes; not_found
/// if unreadable.
Result<Text> load_text(const std::filesystem::path& file, std::int64_t tokens);

}  // namespace ringcomm::demo
