// SPDX-License-Identifier: Apache-2.0
#include "core/terminal_text.hpp"

#include <algorithm>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
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

std::string printable(const std::string& text, bool is_ascii) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = character_at(text, i);
    const bool is_kept =
        length > 0 && (byte >= 0x20 || byte == '\n') && byte != 0x7F && (length == 1 || !is_ascii);
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

}  // namespace ringcomm::inline v0
