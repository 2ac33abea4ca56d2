// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/gid_table.hpp"

#include <algorithm>
#include <utility>

#include "core/parse.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/devinfo_lines.hpp"
#include "topology/readers/ib_reading.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::gid_table {
namespace {

bool is_header(std::string_view line) {
  const auto words = words_of(line);
  return words.size() >= 4 && words[0] == "DEV" && words[1] == "PORT" && words[2] == "INDEX" &&
         words[3] == "GID";
}

/// "mlx5_0 1 3 0000:...:0a00:0001 10.0.0.1 v2 eth2": the IPv4 column and the interface may be empty.
Status take_row(std::string_view line, int number, IbReading& reading) {
  const auto words = words_of(line);
  const Where where = reading.where(number);
  if (words.empty() || words[0].starts_with("---") || words[0].starts_with("n_gids_found")) return {};
  if (words.size() >= 3 && parse_count(words[0]) && parse_count(words[1]) &&
      words[2].find(':') != words[2].npos)
    return Status(StatusCode::corrupt_data,
                  concat("'", shown(line), "' at ", where.to_text(), ": a GID without its device"));
  auto gid = words.size() >= 4 ? parse_gid(words[3], "") : std::nullopt;
  if (!gid) {
    reading.skip(where, line, "no row of a GID table");
    return {};
  }
  for (std::size_t i = 4; i < words.size(); ++i) {
    if (words[i] != "v1" && words[i] != "v2") continue;
    gid->type = parse_gid(words[3], words[i])->type;
    if (i + 1 < words.size()) gid->net_device = std::string(words[i + 1].substr(0, 64));
  }
  RINGCOMM_TRY(reading.begin_nic(words[0], line, where));
  RINGCOMM_TRY(reading.begin_port(words[1], line, where));
  reading.add_gid(std::move(*gid), words[2], where);
  return {};
}

}  // namespace

bool looks_like(std::string_view text) {
  bool has_header = false;
  bool has_gid = false;
  bool has_device = false;
  for_each_line(text, [&](std::string_view raw_line, int) {
    const std::string_view line = trimmed(raw_line).substr(0, 256);
    has_header = has_header || is_header(line);
    has_gid = has_gid || (line.starts_with("GID[") && line.find("]:") != std::string_view::npos);
    has_device = has_device || line.starts_with("hca_id:");
  });
  return has_header || (has_gid && !has_device);
}

Result<Reading> read(std::string_view text, const std::string& file) {
  IbReading reading(file, "gid-table");
  DevinfoLines lines(reading);
  bool is_table = false;
  Status status;
  for_each_line(text, [&](std::string_view line, int number) {
    if (!status.is_ok()) return;
    if (!is_table && is_header(line)) {
      is_table = true;
    } else if (is_table) {
      status = take_row(line, number, reading);
    } else {
      // An excerpt of ibv_devinfo -v: which device and port these are, it does not show.
      const std::string_view start = trimmed(line);
      if (reading.nic() == nullptr && (start.starts_with("GID[") || start.starts_with("phys_state:"))) {
        reading.begin_unnamed_nic(reading.where(number));
        status = reading.begin_port("1", line, reading.where(number));
        reading.skip(reading.where(number), line,
                     "which device and port this is, is not shown: taken as port 1");
      }
      if (status.is_ok()) status = lines.take(line, number);
    }
  });
  RINGCOMM_TRY(status);
  return reading.finish();
}

}  // namespace ringcomm::inline v0::topology::gid_table
