// SPDX-License-Identifier: Apache-2.0
// Reads kernel text files, which report size 0, with a bound and without blocking on what is no file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ringcomm::inline v0 {

/// The first `bytes_max` bytes of the file; empty when it cannot be read.
std::string read_small_file(const std::filesystem::path& path, std::size_t bytes_max);

/// The pieces between separators; empty pieces are left out.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The word after `key` on the line that starts with it ("inactive_file 4096", "MemAvailable: 12 kB"); empty
/// without such a line.
std::string_view value_after(std::string_view text, std::string_view key);

}  // namespace ringcomm::inline v0
