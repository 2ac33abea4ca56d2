// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/json/json_documents.hpp"

#include <algorithm>
#include <array>

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::string_view kBlank = " \t\r\n";
constexpr std::size_t kPiecesMax = 4096;

/// Behind the string that begins at `at`; it ends with its line at the latest.
std::size_t behind_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\n') return at;
    if (text[at] == '"') return at + 1;
    if (text[at] == '\\') ++at;
  }
  return text.size();
}

bool opens_object(std::string_view text, std::size_t at) {
  const std::size_t next = text.find_first_not_of(kBlank, at + 1);
  return next != std::string_view::npos && (text[next] == '"' || text[next] == '}');
}

/// A brace at the start of a line, where no value is due, begins another document: the one before it was cut.
bool is_another(std::string_view text, std::size_t at) {
  if (at == 0 || text[at - 1] != '\n') return false;
  const std::size_t before = text.find_last_not_of(kBlank, at - 1);
  return before != std::string_view::npos &&
         std::string_view(",:[").find(text[before]) == std::string_view::npos;
}

JsonPiece object_at(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t at = begin; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = behind_string(text, at);
      continue;
    }
    if (c == '{' && at != begin && is_another(text, at)) return {begin, at, false};
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) return {begin, at + 1, true};
    ++at;
  }
  return {begin, text.size(), false};
}

bool holds_word(std::string_view text, const std::vector<std::string_view>& words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

}  // namespace

std::vector<JsonPiece> json_objects_with(std::string_view text, const std::vector<std::string_view>& words) {
  std::vector<JsonPiece> pieces;
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at)) {
    if (!opens_object(text, at)) {
      ++at;
      continue;
    }
    const JsonPiece piece = object_at(text, at);
    const bool is_known = holds_word(text.substr(piece.begin, piece.end - piece.begin), words);
    if (is_known) pieces.push_back(piece);
    if (pieces.size() >= kPiecesMax) break;
    at = piece.end;
  }
  return pieces;
}

std::string with_missing_commas(std::string_view text) {
  std::string fixed(text);
  bool is_after_value = false;
  std::size_t blank = std::string::npos;  // the first blank after a value
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (kBlank.find(c) != std::string_view::npos) {
      if (is_after_value && blank == std::string::npos) blank = at;
      ++at;
      continue;
    }
    if (is_after_value && blank != std::string::npos && (c == '"' || c == '{')) fixed[blank] = ',';
    blank = std::string::npos;
    is_after_value = c != ',' && c != ':' && c != '{' && c != '[';
    at = c == '"' ? behind_string(text, at) : at + 1;
  }
  return fixed;
}

std::string without_pieces(std::string_view text, const std::vector<JsonPiece>& pieces) {
  std::string rest(text);
  for (const JsonPiece& piece : pieces) {
    for (std::size_t at = piece.begin; at < piece.end; ++at) {
      if (rest[at] != '\n') rest[at] = ' ';
    }
  }
  return rest;
}

}  // namespace ringcomm::inline v0::diag
