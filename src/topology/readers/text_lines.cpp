// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/text_lines.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "core/parse.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/reader.hpp"

namespace ringcomm::inline v0::topology {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f'; }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t past = text.find(separator);
    parts.push_back(text.substr(0, past));
    if (past == std::string_view::npos) return parts;
    text.remove_prefix(past + 1);
  }
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

void for_each_line(std::string_view text, const std::function<void(std::string_view, int)>& visit) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t past = text.find('\n');
    std::string_view line = text.substr(0, past);
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(line, number);
    if (past == std::string_view::npos) return;
    text.remove_prefix(past + 1);
  }
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < text.size()) {
    if (is_blank(text[at])) {
      ++at;
      continue;
    }
    std::size_t past = at;
    while (past < text.size() && !is_blank(text[past])) ++past;
    words.push_back(text.substr(at, past - at));
    at = past;
  }
  return words;
}

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 80)) {
    if (c >= ' ' && c <= '~') {
      out += c;
      continue;
    }
    std::array<char, 8> escape{};
    std::snprintf(escape.data(), escape.size(), "\\x%02x",
                  static_cast<unsigned>(static_cast<unsigned char>(c)));
    out += escape.data();
  }
  if (text.size() > 80) out += "...";
  return out;
}

std::optional<std::string_view> between(std::string_view text, std::string_view before,
                                        std::string_view after) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  if (after.empty()) return text;
  const std::size_t past = text.find(after);
  if (past == std::string_view::npos) return std::nullopt;
  return text.substr(0, past);
}

void add_skipped(std::vector<Skipped>& skipped, Where where, std::string_view text, std::string reason) {
  if (skipped.size() < kSkippedMax) {
    skipped.push_back({std::move(where), shown(text), std::move(reason)});
    return;
  }
  if (skipped.size() == kSkippedMax)
    skipped.push_back({std::move(where), "0", "more lines were skipped (count)"});
  skipped.back().text = std::to_string(parse_count(skipped.back().text).value_or(0) + 1);
}

std::optional<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> cpus;
  for (const std::string_view part : split(trimmed(text), ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_count(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_count(part.substr(dash + 1));
    if (!first || !last || *first > *last || *last >= static_cast<std::int64_t>(kCpusMax))
      return std::nullopt;
    if (cpus.size() > kCpusMax) return std::nullopt;
    for (std::int64_t cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<int>(cpu));
  }
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::optional<std::vector<int>> parse_cpu_mask(std::string_view text) {
  auto groups = split(trimmed(text), ',');
  if (groups.size() > kCpusMax / 32) return std::nullopt;
  std::vector<int> cpus;
  std::ranges::reverse(groups);
  int base = 0;
  for (std::string_view group : groups) {
    if (group.starts_with("0x")) group.remove_prefix(2);
    std::uint32_t bits = 0;
    const auto [end, error] = std::from_chars(group.data(), group.data() + group.size(), bits, 16);
    if (group.empty() || group.size() > 8 || error != std::errc() || end != group.data() + group.size())
      return std::nullopt;
    for (int bit = 0; bit < 32; ++bit) {
      if (((bits >> bit) & 1U) != 0) cpus.push_back(base + bit);
    }
    base += 32;
  }
  return cpus;
}

std::string cpu_list_text(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    text += concat(text.empty() ? "" : ",", cpus[i]);
    if (last > i) text += concat('-', cpus[last]);
    i = last + 1;
  }
  return text;
}

std::optional<long long> parse_base0(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  std::string_view digits = text.substr(is_negative ? 1 : 0);
  const bool is_hex = digits.starts_with("0x") || digits.starts_with("0X");
  if (is_hex) digits.remove_prefix(2);
  if (digits.empty() || digits.front() == '-') return std::nullopt;
  long long value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hex ? 16 : 10);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return is_negative ? -value : value;
}

}  // namespace ringcomm::inline v0::topology
