// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/text/scan.hpp"

#include <algorithm>
#include <charconv>

#include "ringcomm/topology/pci.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

constexpr std::int64_t kSmallMax = 10'000'000;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_hex(char c) { return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f'); }

}  // namespace

bool contains_ignoring_case(std::string_view text, std::string_view word) {
  if (word.empty()) return true;
  return std::search(text.begin(), text.end(), word.begin(), word.end(),
                     [](char a, char b) { return lower(a) == b; }) != text.end();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (is_blank(text.front()) || text.front() == '\r')) text.remove_prefix(1);
  while (!text.empty() && (is_blank(text.back()) || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

bool take(std::string_view& text, std::string_view prefix) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<std::int64_t> take_number(std::string_view& text) {
  take(text, "");
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::string_view take_word(std::string_view& text, std::string_view ends) {
  take(text, "");
  std::size_t size = 0;
  while (size < text.size() && !is_blank(text[size]) && !contains(ends, text.substr(size, 1))) ++size;
  const std::string_view word = text.substr(0, size);
  text.remove_prefix(size);
  return word;
}

std::optional<std::string_view> after(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + key.size());
}

std::optional<std::int64_t> number_after(std::string_view text, std::string_view key) {
  auto rest = after(text, key);
  return rest ? take_number(*rest) : std::nullopt;
}

std::optional<std::int64_t> hex_after(std::string_view text, std::string_view key) {
  auto rest = after(text, key);
  if (!rest) return std::nullopt;
  take(*rest, "");
  take(*rest, "0x");
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(rest->data(), rest->data() + rest->size(), value, 16);
  return error == std::errc() && value >= 0 ? std::optional(value) : std::nullopt;
}

std::string_view word_after(std::string_view text, std::string_view key) {
  auto rest = after(text, key);
  return rest ? take_word(*rest, ",;)]") : std::string_view();
}

int small_number(std::optional<std::int64_t> number) {
  return number && *number >= 0 && *number <= kSmallMax ? static_cast<int>(*number) : kUnknown;
}

bool is_address(std::string_view text) {
  const bool has_dots = std::ranges::count(text, '.') == 3;
  const bool has_colons = std::ranges::count(text, ':') >= 2;
  const std::string_view digits = text.substr(0, text.find('%'));
  if (digits.empty()) return false;
  if (has_colons)
    return std::ranges::all_of(digits, [](char c) { return is_hex(c) || c == ':' || c == '.'; });
  return has_dots && std::ranges::all_of(digits, [](char c) { return is_digit(c) || c == '.'; });
}

Who peer_of(std::string_view printed) {
  Who who;
  take(printed, "");
  std::string_view name = take_word(printed, "<,;()");
  if (name.starts_with('[')) name = name.substr(1, name.find(']') - 1);
  while (name.ends_with('.') || name.ends_with(':')) name.remove_suffix(1);
  // "10.0.0.1:29500" is an address and a port.
  if (const std::size_t colon = name.find(':'); colon != std::string_view::npos && colon == name.rfind(':'))
    name = name.substr(0, colon);
  if (name.size() > 255) return who;
  if (is_address(name)) {
    who.address = name;
  } else {
    who.host = name;
  }
  return who;
}

std::string bus_id_of(std::string_view printed) {
  if (const auto rest = after(printed, "PCI:")) printed = *rest;
  if (printed.size() > 24) return {};
  if (const auto whole = parse_pci_bus_id(printed); whole.is_ok()) return whole.value().to_text();
  // "0000:dc:00" of a kernel line has no function.
  if (const auto whole = parse_pci_bus_id(std::string(printed) + ".0"); whole.is_ok())
    return whole.value().to_text();
  if (printed.starts_with("0x")) printed.remove_prefix(2);
  const auto packed = parse_packed_bus_id(printed);
  return packed.is_ok() ? packed.value().to_text() : std::string();
}

}  // namespace ringcomm::inline v0::diag::text
