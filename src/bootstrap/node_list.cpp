// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/node_list.hpp"

#include <algorithm>

namespace ringcomm::inline v0::bootstrap {
namespace {

bool is_name(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
}

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<std::string> first_node(std::string_view list) {
  constexpr std::size_t kNameMax = 253;
  const std::size_t end = std::min(list.find_first_of(",["), list.size());
  std::string name(list.substr(0, std::min(end, kNameMax + 1)));
  if (name.empty() || name.size() > kNameMax || !is_name(name)) return std::nullopt;
  if (end == list.size() || list[end] == ',') return name;
  const std::size_t close = list.find(']', end);
  if (close == std::string_view::npos) return std::nullopt;
  // What follows the bracket belongs to the name ("rack[1-2]n1"); a second bracket is not understood.
  const std::string_view after = list.substr(close + 1, list.find(',', close) - close - 1);
  const std::string_view inside = list.substr(end + 1, close - end - 1);
  const std::string_view first = inside.substr(0, inside.find_first_of("-,"));
  if (!is_number(first) || !is_name(after)) return std::nullopt;
  name += first;
  name += after;
  return name.size() <= kNameMax ? std::optional(name) : std::nullopt;
}

}  // namespace ringcomm::inline v0::bootstrap
