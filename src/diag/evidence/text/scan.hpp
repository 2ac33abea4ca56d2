// SPDX-License-Identifier: Apache-2.0
// The small grammar that the line readers share: nothing here allocates, looks back or throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ringcomm/diag/hang_evidence.hpp"

namespace ringcomm::inline v0::diag::text {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
inline bool is_blank(char c) { return c == ' ' || c == '\t'; }

inline bool contains(std::string_view text, std::string_view word) {
  return text.find(word) != std::string_view::npos;
}
/// `word` in lower case.
bool contains_ignoring_case(std::string_view text, std::string_view word);

std::string_view trimmed(std::string_view text);
/// Removes blanks, and then `prefix` if the text begins with it.
bool take(std::string_view& text, std::string_view prefix);
/// Removes a decimal number ("-12"), which may follow blanks.
std::optional<std::int64_t> take_number(std::string_view& text);
/// Removes everything up to the next blank or one of `ends`.
std::string_view take_word(std::string_view& text, std::string_view ends = {});

/// What follows the first `key`; nothing without it.
std::optional<std::string_view> after(std::string_view text, std::string_view key);
/// The decimal number right after the first `key` (blanks between are allowed).
std::optional<std::int64_t> number_after(std::string_view text, std::string_view key);
std::optional<std::int64_t> hex_after(std::string_view text, std::string_view key);
/// The word after `key`, up to a blank or one of ",;)]".
std::string_view word_after(std::string_view text, std::string_view key);
/// A rank, a device, a count of ranks: 0 ... 10 million, or kUnknown.
int small_number(std::optional<std::int64_t> number);

/// "nodea.example<32926>", "10.0.3.59<44206>", "[2001:db8::22]:33062", "fe80::1%ib0<53249>": host or address.
Who peer_of(std::string_view printed);
/// Digits and dots, or colons and hexadecimal digits.
bool is_address(std::string_view text);
/// "0000:3b:00.0" of "3b000", "PCI:0000:3b:00", "0x3b000"; empty for others.
std::string bus_id_of(std::string_view printed);

}  // namespace ringcomm::inline v0::diag::text
