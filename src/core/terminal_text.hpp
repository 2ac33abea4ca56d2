// SPDX-License-Identifier: Apache-2.0
// Text for a terminal: columns that count characters and not bytes, wrapping, foreign bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ringcomm::inline v0 {

inline constexpr std::size_t kScreenColumns = 100;

/// Characters of UTF-8 text, each taken as one column wide.
std::size_t columns_of(std::string_view text);
/// Padded with spaces on the right, or shortened (ending in "...") to exactly `columns`.
std::string fit(std::string_view text, std::size_t columns);
/// At most `columns`; longer text ends in "...".
std::string shorten(std::string_view text, std::size_t columns);
/// At blanks; a word longer than a line has a line of its own. `first` begins the first line, blanks of the
/// same width the others.
std::string wrap(std::string_view first, std::string_view text, std::size_t columns = kScreenColumns);

/// Evidence is foreign text: control characters other than line ends become '?', so that no file can move
/// the cursor or colour the terminal. With `is_ascii` other than 7-bit characters become '?' too. Blanks at
/// the end of lines go.
std::string printable(const std::string& text, bool is_ascii);

/// "3 GPUs", "1 GPU".
std::string count_of(std::size_t count, std::string_view noun);
/// "1, 2 and 3"; more than `shown` end in "and 5 more".
std::string list_of(const std::vector<std::string>& words, std::size_t shown = 1000);

}  // namespace ringcomm::inline v0
