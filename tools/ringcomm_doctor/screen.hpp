// SPDX-License-Identifier: Apache-2.0
// What the programs' screens are made of, beside core/terminal_text.hpp: style and boxes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/terminal_text.hpp"

namespace ringcomm::doctor {

struct TextStyle {
  bool ascii = false;
  bool explain = false;
  bool verbose = false;
};

/// A frame around lines; the title is part of the upper edge.
struct Box {
  std::string title{};
  std::vector<std::string> lines{};
};
/// Boxes one below the other, or two side by side where both fit.
std::string draw(const std::vector<Box>& boxes, const TextStyle& style);

/// ringcomm::printable() in this style.
std::string printable(const std::string& text, const TextStyle& style);

}  // namespace ringcomm::doctor
