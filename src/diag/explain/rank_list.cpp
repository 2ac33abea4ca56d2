// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/rank_list.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "core/parse.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

struct Labels {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> names;
};

Labels sorted(const std::vector<std::string>& labels) {
  Labels out;
  std::set<std::string_view> names;
  for (const std::string& label : labels) {
    if (const auto number = parse_count(label))
      out.numbers.push_back(static_cast<std::int64_t>(*number));
    else if (names.insert(label).second)
      out.names.push_back(label);
  }
  std::sort(out.numbers.begin(), out.numbers.end());
  out.numbers.erase(std::unique(out.numbers.begin(), out.numbers.end()), out.numbers.end());
  return out;
}

}  // namespace

std::string rank_list(const std::vector<std::string>& labels, std::size_t shown) {
  const Labels all = sorted(labels);
  const std::vector<std::int64_t>& numbers = all.numbers;
  std::string out;
  std::size_t pieces = 0, named = 0;
  for (std::size_t begin = 0; begin < numbers.size() && pieces < shown; ++pieces) {
    std::size_t end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    out += concat(out.empty() ? "" : ", ", numbers[begin]);
    if (end - begin == 2) out += concat(", ", numbers[begin + 1]);
    if (end - begin > 2) out += concat("-", numbers[end - 1]);
    named += end - begin;
    begin = end;
  }
  for (std::size_t i = 0; i < all.names.size() && pieces < shown; ++i, ++pieces, ++named)
    out += concat(out.empty() ? "" : ", ", all.names[i]);
  const std::size_t left = numbers.size() + all.names.size() - named;
  return left == 0 ? out : concat(out, " and ", left, " more");
}

std::string ranks_in_words(const std::vector<std::string>& labels, std::size_t shown) {
  const std::size_t numbers = sorted(labels).numbers.size();
  return concat(numbers == 0 ? "" : numbers == 1 ? "rank " : "ranks ", rank_list(labels, shown));
}

}  // namespace ringcomm::inline v0::diag
