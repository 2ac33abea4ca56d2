// SPDX-License-Identifier: Apache-2.0
// Strict readers of numbers written by people: the whole text must be the number, and nothing overflows.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ringcomm::inline v0 {

/// The whole of `text` as a decimal T without a plus sign or spaces, or nothing.
template <class T>
std::optional<T> parse_decimal(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

/// As parse_decimal, but digits only: no minus sign either.
inline std::optional<std::int64_t> parse_count(std::string_view text) {
  if (text.empty() || text.front() == '-') return std::nullopt;
  return parse_decimal<std::int64_t>(text);
}

/// Compares ASCII letters without case.
inline bool equals_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

}  // namespace ringcomm::inline v0
