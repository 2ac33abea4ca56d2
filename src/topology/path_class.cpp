// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/topology/path_class.hpp"

#include <array>
#include <cstddef>

#include "core/parse.hpp"

namespace ringcomm::inline v0 {
namespace {

constexpr std::array<std::string_view, 14> kClassWords{"LOC", "NVL", "NVB",  "C2C", "PIX", "PXB", "P2C",
                                                       "PXN", "PHB", "NODE", "SYS", "NET", "DIS", "?"};
constexpr std::array<std::string_view, 4> kSourceWords{"unknown", "table", "evidence", "measured"};

}  // namespace

std::string_view name_of(PathClass path_class) { return kClassWords[static_cast<std::size_t>(path_class)]; }

std::optional<PathClass> parse_path_class(std::string_view word) {
  if (equals_ignoring_case(word, "X")) return PathClass::loc;
  if (word.size() > 2 && equals_ignoring_case(word.substr(0, 2), "NV") && parse_count(word.substr(2)))
    return PathClass::nvl;
  for (std::size_t i = 0; i + 1 < kClassWords.size(); ++i) {
    if (equals_ignoring_case(word, kClassWords[i])) return static_cast<PathClass>(i);
  }
  return std::nullopt;
}

std::string_view name_of(Source source) { return kSourceWords[static_cast<std::size_t>(source)]; }

}  // namespace ringcomm::inline v0
