// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/ib_reading.hpp"

#include <algorithm>

#include "core/parse.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/reader.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology {
namespace {

constexpr std::size_t kPortsMax = 256;  // of one NIC: the number is 8 bits in the protocol
constexpr std::size_t kGidsMax = 1024;  // of one port: 256 in mlx5

Status lacks_id(std::string_view line, const Where& where, std::string_view what) {
  return Status(StatusCode::corrupt_data,
                concat("'", shown(trimmed(line)), "' at ", where.to_text(), ": ", what));
}

}  // namespace

IbReading::IbReading(const std::string& file, std::string_view format) {
  reading_.file = file;
  reading_.format = format;
  reading_.machine.hosts.emplace_back();
}

Status IbReading::begin_nic(std::string_view name, std::string_view line, const Where& where) {
  name = trimmed(name);
  if (name.empty()) return lacks_id(line, where, "the device has no name");
  port_ = -1;
  const auto known = nics_by_name_.find(name);
  if (known != nics_by_name_.end()) {
    nic_ = known->second;
    return {};
  }
  nic_ = -1;
  if (name.size() > 64 || reading_.machine.nics.size() >= kDevicesMax) {
    skip(where, line, name.size() > 64 ? "no name of a device" : "too many devices");
    return {};
  }
  begin_unnamed_nic(where);
  nic()->name = std::string(name);
  nics_by_name_.emplace(name, nic_);
  return {};
}

void IbReading::begin_unnamed_nic(const Where& where) {
  nic_ = static_cast<int>(reading_.machine.nics.size());
  reading_.machine.nics.emplace_back().where = where;
}

Status IbReading::begin_port(std::string_view text, std::string_view line, const Where& where) {
  const auto number = parse_count(trimmed(text));
  if (trimmed(text).empty()) return lacks_id(line, where, "the port has no number");
  port_ = -1;
  if (nic() == nullptr || !number || *number < 1 || *number > static_cast<std::int64_t>(kPortsMax)) {
    skip(where, line,
         nic() == nullptr ? "which device this port belongs to is not shown" : "no number of a port");
    return {};
  }
  auto& ports = nic()->ports;
  const auto known = std::ranges::find(ports, static_cast<int>(*number), &Port::number);
  port_ = static_cast<int>(known - ports.begin());
  if (known != ports.end()) return {};
  ports.emplace_back().number = static_cast<int>(*number);
  ports.back().where = where;
  return {};
}

bool IbReading::set_field(const IbField& field, const Where& where) {
  if (port() != nullptr && set_port_field(field, where, *port(), reading_.skipped)) return true;
  return nic() != nullptr && set_nic_field(field, *nic());
}

void IbReading::add_gid(Gid gid, std::string_view index, const Where& where) {
  const auto number = parse_count(trimmed(index));
  if (port() == nullptr || !number || *number > 65535 || port()->gids.size() >= kGidsMax) {
    skip(where, gid.address,
         port() == nullptr ? "which port this GID belongs to is not shown" : "no index of a GID");
    return;
  }
  if (is_empty_gid(gid)) return;
  gid.index = static_cast<int>(*number);
  port()->gids.push_back(std::move(gid));
}

void IbReading::skip(const Where& where, std::string_view text, std::string reason) {
  add_skipped(reading_.skipped, where, text, std::move(reason));
}

Result<Reading> IbReading::finish() {
  if (reading_.machine.nics.empty())
    return Status(StatusCode::corrupt_data, concat(reading_.file, " has no device of ", reading_.format));
  reading_.machine.has_nic_evidence = true;
  for (const Nic& nic : reading_.machine.nics) {
    if (nic.ports.empty())
      skip(nic.where, nic.name, "the entry ends before its ports: their state is unknown");
  }
  return std::move(reading_);
}

}  // namespace ringcomm::inline v0::topology
