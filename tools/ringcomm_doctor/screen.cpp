// SPDX-License-Identifier: Apache-2.0
#include "screen.hpp"

#include <algorithm>

#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

std::string repeated(std::string_view piece, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += piece;
  return out;
}

struct Frame {
  std::string_view across, down, top_left, top_right, bottom_left, bottom_right;
};
constexpr Frame kAscii{"-", "|", "+", "+", "+", "+"};
constexpr Frame kLines{"─", "│", "┌", "┐", "└", "┘"};

std::size_t inner_columns(const Box& box) {
  std::size_t columns = columns_of(box.title) + 2;
  for (const std::string& line : box.lines) columns = std::max(columns, columns_of(line));
  return std::min(columns, kScreenColumns - 4);
}

std::vector<std::string> drawn(const Box& box, const Frame& frame, std::size_t inner, std::size_t height) {
  std::vector<std::string> out;
  const std::string title = concat(" ", shorten(box.title, inner - 2), " ");
  out.push_back(concat(frame.top_left, frame.across, title,
                       repeated(frame.across, inner + 1 - columns_of(title)), frame.top_right));
  for (std::size_t i = 0; i < height; ++i) {
    const std::string_view line = i < box.lines.size() ? std::string_view(box.lines[i]) : std::string_view();
    out.push_back(concat(frame.down, " ", fit(line, inner), " ", frame.down));
  }
  out.push_back(concat(frame.bottom_left, repeated(frame.across, inner + 2), frame.bottom_right));
  return out;
}

}  // namespace

std::string draw(const std::vector<Box>& boxes, const TextStyle& style) {
  const Frame& frame = style.ascii ? kAscii : kLines;
  std::string out;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const std::size_t inner = inner_columns(boxes[i]);
    const bool has_neighbour =
        i + 1 < boxes.size() && inner + inner_columns(boxes[i + 1]) + 9 <= kScreenColumns;
    if (!has_neighbour) {
      for (const std::string& line : drawn(boxes[i], frame, inner, boxes[i].lines.size()))
        out += concat(line, "\n");
      continue;
    }
    const std::size_t height = std::max(boxes[i].lines.size(), boxes[i + 1].lines.size());
    const auto left = drawn(boxes[i], frame, inner, height);
    const auto right = drawn(boxes[i + 1], frame, inner_columns(boxes[i + 1]), height);
    for (std::size_t row = 0; row < left.size(); ++row) out += concat(left[row], " ", right[row], "\n");
    ++i;
  }
  return out;
}

std::string printable(const std::string& text, const TextStyle& style) {
  return ringcomm::printable(text, style.ascii);
}

}  // namespace ringcomm::doctor
