// SPDX-License-Identifier: Apache-2.0
#include "screen.hpp"

#include <algorithm>

#include "ringcomm/core/text.hpp"

namespace ringcomm::doctor {
namespace {

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

/// The first `columns` characters.
std::string_view head(std::string_view text, std::size_t columns) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && seen++ == columns) return text.substr(0, i);
  }
  return text;
}

/// What of a word that is wider than a line goes on this one: a path breaks after a slash.
std::string_view breakable_head(std::string_view word, std::size_t columns) {
  const std::string_view fits = head(word, columns);
  const std::size_t slash = fits.rfind('/');
  return slash == std::string_view::npos || slash == 0 ? fits : fits.substr(0, slash + 1);
}

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

bool is_continuation(unsigned char byte) { return (byte & 0xC0U) == 0x80U; }

/// Length of the well-formed UTF-8 character at `i`, 0 where there is none.
std::size_t character_at(const std::string& text, std::size_t i) {
  const auto first = static_cast<unsigned char>(text[i]);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if (!is_continuation(static_cast<unsigned char>(text[i + k]))) return 0;
  }
  const bool is_c1_control = length == 2 && first == 0xC2 && static_cast<unsigned char>(text[i + 1]) < 0xA0;
  return is_c1_control ? 0 : length;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character));
}

std::string shorten(std::string_view text, std::size_t columns) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  if (columns_of(line) <= columns) return line;
  return columns < 4 ? std::string(head(line, columns)) : concat(head(line, columns - 3), "...");
}

std::string fit(std::string_view text, std::size_t columns) {
  std::string out = shorten(text, columns);
  out.append(columns - columns_of(out), ' ');
  return out;
}

std::string wrap(std::string_view first, std::string_view text, std::size_t columns) {
  const std::string margin(columns_of(first), ' ');
  std::string out, line(first);
  bool is_line_empty = true;
  const auto next_line = [&] {
    out += concat(line, "\n");
    line = margin;
    is_line_empty = true;
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", begin), text.size());
    std::string_view word = text.substr(begin, end - begin);
    begin = end + 1;
    if (word.empty()) continue;
    if (!is_line_empty && columns_of(line) + 1 + columns_of(word) > columns) next_line();
    while (is_line_empty && columns > margin.size() && columns_of(word) > columns - margin.size()) {
      const std::string_view piece = breakable_head(word, columns - margin.size());
      line += piece;
      word.remove_prefix(piece.size());
      next_line();
    }
    line += concat(is_line_empty ? "" : " ", word);
    is_line_empty = false;
  }
  return concat(out, line, "\n");
}

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
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = character_at(text, i);
    const bool is_kept =
        length > 0 && (byte >= 0x20 || byte == '\n') && byte != 0x7F && (length == 1 || !style.ascii);
    if (byte == '\n') out.erase(out.find_last_not_of(' ') + 1);
    if (is_kept)
      out.append(text, i, length);
    else
      out += '?';
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::string count_of(std::size_t count, std::string_view noun) {
  return concat(count, " ", noun, count == 1 ? "" : "s");
}

std::string list_of(const std::vector<std::string>& words, std::size_t shown) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == shown) return concat(out, " and ", words.size() - shown, " more");
    const bool is_last = i + 1 == words.size();
    out += concat(i == 0 ? "" : is_last ? " and " : ", ", words[i]);
  }
  return out;
}

}  // namespace ringcomm::doctor
