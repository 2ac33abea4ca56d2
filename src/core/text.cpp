// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/core/text.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

namespace ringcomm::inline v0 {

void detail::append_text(std::string& out, double piece) {
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.6g", piece);
  out += digits.data();
}

std::string format_bytes(unsigned long long bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024.0 && unit + 1 < kUnits.size(); ++unit) value /= 1024.0;
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.2f", value);
  std::string text = digits.data();
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text + " " + kUnits[unit];
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  const auto nearest = std::ranges::min_element(
      known, {}, [&](const std::string& candidate) { return edit_distance(word, candidate); });
  return nearest == known.end() ? std::string() : *nearest;
}

}  // namespace ringcomm::inline v0
