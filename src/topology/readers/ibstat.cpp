// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/ibstat.hpp"

#include <algorithm>
#include <array>

#include "core/try.hpp"
#include "topology/readers/ib_reading.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::ibstat {
namespace {

constexpr std::array<std::string_view, 7> kUnusedKeys{
    "number of ports", "hardware version", "system image guid", "lmc",
    "sm lid",          "capability mask",  "port guid"};

Status take(std::string_view raw_line, int number, IbReading& reading) {
  const std::string_view line = trimmed(raw_line);
  const Where where = reading.where(number);
  if (line.empty()) return {};
  if (line.starts_with("CA '"))
    return reading.begin_nic(between(line, "CA '", "'").value_or(""), line, where);
  const std::string_view port = line.starts_with("Port ") && line.ends_with(':') ? line : std::string_view();
  if (!port.empty()) return reading.begin_port(port.substr(5, port.size() - 6), line, where);
  const auto field = split_ib_field(line);
  const bool is_known =
      field && reading.nic() != nullptr &&
      (reading.set_field(*field, where) || std::ranges::find(kUnusedKeys, field->key) != kUnusedKeys.end());
  if (!is_known) reading.skip(where, line, "no line of ibstat");
  return {};
}

}  // namespace

bool looks_like(std::string_view text) {
  bool has_device = false;
  bool has_type = false;
  for_each_line(text, [&](std::string_view raw_line, int) {
    const std::string_view line = trimmed(raw_line);
    has_device = has_device || line.starts_with("CA '");
    has_type = has_type || line.starts_with("CA type:") || line.starts_with("Physical state:");
  });
  return has_device && has_type;
}

Result<Reading> read(std::string_view text, const std::string& file) {
  IbReading reading(file, "ibstat");
  Status status;
  for_each_line(text, [&](std::string_view line, int number) {
    if (status.is_ok()) status = take(line, number, reading);
  });
  RINGCOMM_TRY(status);
  return reading.finish();
}

}  // namespace ringcomm::inline v0::topology::ibstat
