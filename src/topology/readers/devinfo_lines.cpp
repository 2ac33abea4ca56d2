// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/devinfo_lines.hpp"

#include <algorithm>
#include <utility>

#include "core/parse.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology {
namespace {

bool is_attribute(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == ' ' || c == '[' || c == ']' ||
           c == '-';
  });
}

/// "PORT_ACTIVE_EVENT", a flag that -v lists below an attribute.
bool is_flag(std::string_view line) {
  return std::ranges::all_of(
      line, [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ' '; });
}

}  // namespace

Status DevinfoLines::take(std::string_view raw_line, int number) {
  const std::string_view line = trimmed(raw_line);
  const Where where = reading_.where(number);
  if (line.empty()) return {};
  if (line.starts_with("GID[")) return take_gid(line, where);
  const auto field = split_ib_field(line);
  if (field && field->key == "hca id") {
    is_mellanox_ = false;
    return reading_.begin_nic(field->value, line, where);
  }
  if (field && field->key == "port") return reading_.begin_port(field->value, line, where);
  if (field && (reading_.set_field(*field, where) || set_model(*field))) return {};
  // A verbose listing has some hundred attributes of a device.
  const bool is_unused = reading_.nic() != nullptr && (field ? is_attribute(field->key) : is_flag(line));
  if (!is_unused) reading_.skip(where, line, "no line of ibv_devinfo");
  return {};
}

/// hca_type of the kernel's mlx5 driver is "MT" and this number.
bool DevinfoLines::set_model(const IbField& field) {
  if (field.key == "vendor id") is_mellanox_ = parse_base0(field.value) == 0x02c9;
  if (field.key != "vendor part id" || !is_mellanox_ || reading_.nic() == nullptr) return false;
  const auto part = parse_count(field.value);
  if (part) reading_.nic()->model = concat("MT", *part);
  return part.has_value();
}

Status DevinfoLines::take_gid(std::string_view line, const Where& where) {
  const std::string_view index = trimmed(between(line, "GID[", "]").value_or(""));
  if (index.empty())
    return Status(StatusCode::corrupt_data,
                  concat("'", shown(line), "' at ", where.to_text(), ": a GID without its index"));
  const std::string_view value = between(line, "]:", "").value_or("");
  const std::size_t comma = std::min(value.find(','), value.size());
  auto gid = parse_gid(value.substr(0, comma), comma < value.size() ? value.substr(comma + 1) : "");
  if (gid) {
    reading_.add_gid(std::move(*gid), index, where);
  } else {
    reading_.skip(where, line, "no IPv6 address");
  }
  return {};
}

}  // namespace ringcomm::inline v0::topology
