// SPDX-License-Identifier: Apache-2.0
// Prints the environment table for people; apart from env.cpp because reading never needs it.
#include <algorithm>
#include <string>
#include <utility>

#include "ringcomm/core/env.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

constexpr std::size_t kColumnsMax = 100;
constexpr std::size_t kValueColumnsMax = 25;

std::string_view name_of(EnvType type) {
  switch (type) {
    case EnvType::text:
      return "text";
    case EnvType::integer:
      return "integer";
    case EnvType::bytes:
      return "bytes";
    case EnvType::milliseconds:
      return "milliseconds";
    case EnvType::flag:
      return "flag";
  }
  return "unknown";
}

bool is_accepted(const EnvVariable& variable) {
  switch (variable.type) {
    case EnvType::text:
      return true;
    case EnvType::integer:
      return env_integer(variable.name).is_ok();
    case EnvType::bytes:
      return env_bytes(variable.name).is_ok();
    case EnvType::milliseconds:
      return env_milliseconds(variable.name).is_ok();
    case EnvType::flag:
      return env_flag(variable.name).is_ok();
  }
  return false;
}

/// Short enough for its column and free of bytes that would move the cursor.
std::string printable(std::string text) {
  if (text.size() > kValueColumnsMax) text = text.substr(0, kValueColumnsMax - 3) + "...";
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

/// What keeps strangers out of a group is not for screens: a secret, and a unique id, which holds one.
std::string shown(std::string_view name, std::string value) {
  return name == "RINGCOMM_SECRET" || value.starts_with("id:") ? "(hidden)" : printable(std::move(value));
}

std::string padded(std::string_view text, std::size_t columns) {
  std::string cell(text);
  cell.resize(std::max(cell.size() + 1, columns), ' ');
  return cell;
}

std::string wrapped(std::string_view sentence, std::size_t indent) {
  std::string out;
  while (!sentence.empty()) {
    std::size_t length = sentence.size();
    if (indent + length > kColumnsMax) length = sentence.rfind(' ', kColumnsMax - indent);
    out += concat(std::string(indent, ' '), sentence.substr(0, length), '\n');
    sentence.remove_prefix(std::min(length + 1, sentence.size()));
  }
  return out;
}

}  // namespace

std::string format_env_table() {
  std::string out;
  for (const auto& variable : env_table()) {
    const auto set = env_text(variable.name);
    const std::string_view fallback =
        variable.default_value.empty() ? std::string_view("unset") : variable.default_value;
    const std::string_view source = !set ? "default" : is_accepted(variable) ? "environment" : "NOT ACCEPTED";
    out += concat(padded(variable.name, 24), padded(name_of(variable.type), 13),
                  set ? shown(variable.name, *set) : printable(std::string(fallback)), " (", source,
                  "), default ", fallback, '\n');
    out += wrapped(variable.sentence, 4);
  }
  return out;
}

}  // namespace ringcomm::inline v0
