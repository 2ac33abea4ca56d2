// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::inline v0::diag {

/// All files of the paths, each once, in the order of their names however they were given. What is not looked
/// into (too deep, no ordinary file, no right) is in `unread`.
std::vector<std::filesystem::path> files_of(std::span<const std::filesystem::path> paths,
                                            std::size_t files_max, std::vector<UnreadFile>& unread);

/// Names in the order in which people count: "t2" before "t10".
bool comes_before(std::string_view a, std::string_view b);

}  // namespace ringcomm::inline v0::diag
