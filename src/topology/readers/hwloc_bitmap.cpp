// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/hwloc_bitmap.hpp"

#include <charconv>
#include <cstdint>

#include "topology/readers/reader.hpp"

namespace ringcomm::inline v0::topology {

std::optional<std::vector<int>> parse_hwloc_bitmap(std::string_view text) {
  std::vector<int> numbers;
  if (text.empty()) return numbers;
  std::size_t base = 0;
  for (;;) {
    const std::size_t comma = text.rfind(',');
    std::string_view group = comma == std::string_view::npos ? text : text.substr(comma + 1);
    if (group.starts_with("0x")) group.remove_prefix(2);
    std::uint32_t bits = 0;
    const char* const end = group.data() + group.size();
    if (!group.empty()) {
      const auto [stop, error] = std::from_chars(group.data(), end, bits, 16);
      if (error != std::errc() || stop != end) return std::nullopt;
    }
    if (base >= kCpusMax) return std::nullopt;
    for (std::size_t bit = 0; bit < 32; ++bit) {
      if (((bits >> bit) & 1U) != 0) numbers.push_back(static_cast<int>(base + bit));
    }
    if (comma == std::string_view::npos) return numbers;
    text = text.substr(0, comma);
    base += 32;
  }
}

}  // namespace ringcomm::inline v0::topology
