// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/sysfs_ib.hpp"

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/parse.hpp"
#include "core/small_file.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/ib_fields.hpp"
#include "topology/readers/reader.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::sysfs_ib {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFileBytesMax = 4096;  // a page: no sysfs file is larger
constexpr std::size_t kEntriesMax = 1024;    // of one directory of a port

/// Sorted by name; empty when the directory cannot be read.
std::vector<std::string> names_in(const fs::path& directory, std::size_t count_max) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (names.size() >= count_max) break;
    names.push_back(entry->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::string read_line(const fs::path& path) {
  const std::string text = read_small_file(path, kFileBytesMax);
  return std::string(trimmed(std::string_view(text).substr(0, text.find('\n'))));
}

bool has_directory(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

void read_counters(const fs::path& directory, Port& port, std::vector<Skipped>& skipped) {
  for (const std::string& name : names_in(directory, kEntriesMax)) {
    const std::string text = read_line(directory / name);
    if (const auto value = parse_decimal<std::uint64_t>(text)) {
      port.counters.emplace(name, *value);
    } else if (!text.empty()) {
      add_skipped(skipped, {(directory / name).string(), 0}, text, "no number");
    }
  }
}

void read_gids(const fs::path& port_path, Port& port, std::vector<Skipped>& skipped) {
  for (const std::string& name : names_in(port_path / "gids", kEntriesMax)) {
    const auto index = parse_count(name);
    const std::string text = read_line(port_path / "gids" / name);
    if (!index || *index > 65535 || text.empty()) continue;
    auto gid = parse_gid(text, read_line(port_path / "gid_attrs" / "types" / name));
    if (!gid) {
      add_skipped(skipped, {(port_path / "gids" / name).string(), 0}, text, "no IPv6 address");
      continue;
    }
    if (is_empty_gid(*gid)) continue;
    gid->index = static_cast<int>(*index);
    gid->net_device = read_line(port_path / "gid_attrs" / "ndevs" / name).substr(0, 64);
    port.gids.push_back(std::move(*gid));
  }
  std::ranges::sort(port.gids, {}, &Gid::index);
}

Port read_port(const fs::path& path, int number, std::vector<Skipped>& skipped) {
  Port port;
  port.number = number;
  port.where = {path.string(), 0};
  for (const char* const name : {"state", "phys_state", "link_layer", "rate", "lid"}) {
    const std::string text = read_line(path / name);
    const Where where{(path / name).string(), 0};
    if (text.empty()) continue;
    std::string key(name);
    std::ranges::replace(key, '_', ' ');
    set_port_field({.key = key, .value = text}, where, port, skipped);
  }
  read_counters(path / "counters", port, skipped);
  read_counters(path / "hw_counters", port, skipped);
  read_gids(path, port, skipped);
  return port;
}

void read_place(const fs::path& path, Nic& nic, std::vector<Skipped>& skipped) {
  std::error_code error;
  const fs::path device = fs::canonical(path / "device", error);
  if (error) return;
  if (const auto bus = parse_pci_bus_id(device.filename().string()); bus.is_ok()) nic.bus = bus.value();
  const std::string node = read_line(device / "numa_node");
  const auto number = parse_decimal<int>(node);
  if (number && *number >= 0) nic.numa_node = number;
  if (!number && !node.empty()) add_skipped(skipped, {(device / "numa_node").string(), 0}, node, "no number");
  const auto interfaces = names_in(device / "net", kEntriesMax);
  // Two ports of one function have two interfaces: which is whose is in dev_port, from 0.
  for (const std::string& interface : interfaces) {
    const auto index = parse_count(read_line(device / "net" / interface / "dev_port"));
    for (Port& port : nic.ports) {
      const bool is_only_one = interfaces.size() == 1 && nic.ports.size() == 1;
      if (is_only_one || (interfaces.size() <= nic.ports.size() && index == port.number - 1))
        port.net_name = interface;
    }
  }
}

}  // namespace

bool looks_like(const fs::path& directory) {
  const auto names = names_in(directory, kDevicesMax);
  return std::ranges::any_of(
      names, [&](const std::string& name) { return has_directory(directory / name / "ports"); });
}

Result<Reading> read(const fs::path& directory) {
  Reading reading;
  reading.file = directory.string();
  reading.format = "sysfs-ib";
  reading.machine.hosts.emplace_back();
  if (!has_directory(directory))
    return Status(StatusCode::not_found, concat("no such directory: ", directory.string()));
  for (const std::string& name : names_in(directory, kDevicesMax)) {
    const fs::path path = directory / name;
    if (!has_directory(path / "ports")) {
      add_skipped(reading.skipped, {path.string(), 0}, name, "no adapter: it has no ports directory");
      continue;
    }
    Nic& nic = reading.machine.nics.emplace_back();
    nic.name = name;
    nic.where = {path.string(), 0};
    nic.firmware = read_line(path / "fw_ver");
    nic.model = read_line(path / "hca_type");
    nic.guid = read_line(path / "node_guid");
    for (const std::string& port : names_in(path / "ports", 256)) {
      const auto number = parse_count(port);
      if (number && *number >= 1 && *number <= 255) {
        nic.ports.push_back(read_port(path / "ports" / port, static_cast<int>(*number), reading.skipped));
      } else {
        add_skipped(reading.skipped, {(path / "ports" / port).string(), 0}, port, "no number of a port");
      }
    }
    std::ranges::sort(nic.ports, {}, &Port::number);
    read_place(path, nic, reading.skipped);
  }
  if (reading.machine.nics.empty())
    return Status(StatusCode::not_found, concat(directory.string(), " holds no InfiniBand adapter"));
  reading.machine.has_nic_evidence = true;
  return reading;
}

}  // namespace ringcomm::inline v0::topology::sysfs_ib
