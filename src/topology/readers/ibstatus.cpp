// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/ibstatus.hpp"

#include "core/try.hpp"
#include "topology/readers/ib_reading.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::ibstatus {
namespace {

constexpr std::string_view kTitle = "Infiniband device '";

Status take(std::string_view raw_line, int number, IbReading& reading) {
  const std::string_view line = trimmed(raw_line);
  const Where where = reading.where(number);
  if (line.empty()) return {};
  if (line.starts_with(kTitle)) {
    RINGCOMM_TRY(reading.begin_nic(between(line, kTitle, "'").value_or(""), line, where));
    return reading.begin_port(between(line, "' port", "status").value_or(""), line, where);
  }
  const auto field = split_ib_field(line);
  if (field && reading.port() != nullptr) {
    if (reading.set_field(*field, where) || field->key == "sm lid") return {};
    if (field->key == "default gid") {
      if (auto gid = parse_gid(field->value, "")) {
        reading.add_gid(std::move(*gid), "0", where);
      } else {
        reading.skip(where, line, "no IPv6 address");
      }
      return {};
    }
  }
  reading.skip(where, line, "no line of ibstatus");
  return {};
}

}  // namespace

bool looks_like(std::string_view text) {
  bool has_title = false;
  for_each_line(
      text, [&](std::string_view line, int) { has_title = has_title || trimmed(line).starts_with(kTitle); });
  return has_title;
}

Result<Reading> read(std::string_view text, const std::string& file) {
  IbReading reading(file, "ibstatus");
  Status status;
  for_each_line(text, [&](std::string_view line, int number) {
    if (status.is_ok()) status = take(line, number, reading);
  });
  RINGCOMM_TRY(status);
  return reading.finish();
}

}  // namespace ringcomm::inline v0::topology::ibstatus
