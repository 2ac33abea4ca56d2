// SPDX-License-Identifier: Apache-2.0
// hwloc's bitmaps as text.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace ringcomm::inline v0::topology {

/// "0x000000ff,0xff000000,,0x0000ffff": comma groups of 32 bits, the highest first, an empty group is 0;
/// "0x0" and "" are empty sets. Nothing for infinite sets ("0xf...f,...") and other text.
std::optional<std::vector<int>> parse_hwloc_bitmap(std::string_view text);

}  // namespace ringcomm::inline v0::topology
