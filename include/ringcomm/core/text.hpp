// SPDX-License-Identifier: Apache-2.0
// Builds messages from values without a formatting library (std::format is missing with g++ 12).
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {
namespace detail {

inline void append_text(std::string& out, std::string_view piece) { out += piece; }
inline void append_text(std::string& out, char piece) { out += piece; }
inline void append_text(std::string& out, std::integral auto piece) { out += std::to_string(piece); }
void append_text(std::string& out, double piece);

}  // namespace detail

/// "rank " + 3 + " of " + 4 as one string; floating point is printed with up to six significant digits.
template <class... Pieces>
std::string concat(const Pieces&... pieces) {
  std::string out;
  (detail::append_text(out, pieces), ...);
  return out;
}

/// "64 B", "1.5 MiB": binary units, at most two decimals.
std::string format_bytes(unsigned long long bytes);

/// Levenshtein distance, to name the known word nearest to a misspelt one.
std::size_t edit_distance(std::string_view a, std::string_view b);
/// The first of those at the least edit distance; empty when nothing is known.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
