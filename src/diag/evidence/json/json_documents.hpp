// SPDX-License-Identifier: Apache-2.0
// JSON objects in a text that has other lines too: a log, a paste, output of a command that warns first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ringcomm::inline v0::diag {

struct JsonPiece {
  std::size_t begin = 0, end = 0;  ///< [begin, end) in the text
  bool is_whole = false;           ///< false: the text ends inside it
};

/// Objects (a brace, then a key or nothing) that hold one of the words, in their order; braces match, strings
/// are looked through. Linear in the text.
std::vector<JsonPiece> json_objects_with(std::string_view text, const std::vector<std::string_view>& words);

/// The text with a comma where a value is followed by a key: NCCL forgets one before "status" of a missing
/// rank. As long as the text.
std::string with_missing_commas(std::string_view text);

/// The text with blanks in place of the pieces; line breaks stay, so that line numbers do.
std::string without_pieces(std::string_view text, const std::vector<JsonPiece>& pieces);

}  // namespace ringcomm::inline v0::diag
