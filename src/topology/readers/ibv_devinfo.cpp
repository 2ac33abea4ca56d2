// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/ibv_devinfo.hpp"

#include "core/try.hpp"
#include "topology/readers/devinfo_lines.hpp"
#include "topology/readers/ib_reading.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::ibv_devinfo {

bool looks_like(std::string_view text) {
  bool has_device = false;
  for_each_line(text, [&](std::string_view line, int) {
    has_device = has_device || trimmed(line).starts_with("hca_id:");
  });
  return has_device;
}

Result<Reading> read(std::string_view text, const std::string& file) {
  IbReading reading(file, "ibv_devinfo");
  DevinfoLines lines(reading);
  Status status;
  for_each_line(text, [&](std::string_view line, int number) {
    if (status.is_ok()) status = lines.take(line, number);
  });
  RINGCOMM_TRY(status);
  return reading.finish();
}

}  // namespace ringcomm::inline v0::topology::ibv_devinfo
