// SPDX-License-Identifier: Apache-2.0
// Bytes as hexadecimal digits and back; outside text, so nothing but whole pairs of digits is accepted.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ringcomm::inline v0::bootstrap {

inline std::string hex_of(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += kDigits[std::to_integer<std::size_t>(b >> 4)];
    text += kDigits[std::to_integer<std::size_t>(b & std::byte{15})];
  }
  return text;
}

/// Nothing unless `text` is exactly 2 * N digits, of either case.
template <std::size_t N>
std::optional<std::array<std::byte, N>> bytes_from_hex(std::string_view text) {
  if (text.size() != 2 * N) return std::nullopt;
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
  };
  std::array<std::byte, N> bytes{};
  for (std::size_t i = 0; i < N; ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes[i] = static_cast<std::byte>(16 * high + low);
  }
  return bytes;
}

}  // namespace ringcomm::inline v0::bootstrap
