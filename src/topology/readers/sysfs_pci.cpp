// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/sysfs_pci.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "core/parse.hpp"
#include "core/small_file.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/pci_class.hpp"
#include "topology/readers/pci_config.hpp"
#include "topology/readers/reader.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::sysfs_pci {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBytesMax = 4096;  // the whole configuration space; other files are shorter

std::string line_of(const fs::path& path) { return std::string(trimmed(read_small_file(path, kBytesMax))); }

std::vector<fs::path> sorted_entries(const fs::path& directory) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    entries.push_back(it->path());
  std::ranges::sort(entries);
  return entries;
}

std::optional<int> small_count(const fs::path& path) {
  const auto value = parse_count(line_of(path));
  if (!value || *value > 1 << 20) return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<std::uint32_t> hex_of(const fs::path& path) {
  const auto value = parse_base0(line_of(path));
  if (!value || *value < 0 || *value > 0xffffffffLL) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

/// Width 0 and 255 and speed "Unknown" are what the kernel writes for no link.
PciLink link_of(const fs::path& directory, const char* which) {
  PciLink link;
  link.speed_text = line_of(directory / concat(which, "_link_speed"));
  link.gt_per_s = parse_link_speed(link.speed_text);
  link.width = small_count(directory / concat(which, "_link_width"));
  if (link.width && (*link.width < 1 || *link.width > 32)) link.width.reset();
  return link;
}

/// -1, the kernel's unknown, is no count.
PciDevice device_of(const fs::path& directory, PciBusId id) {
  PciDevice device;
  device.id = id;
  device.class_code = hex_of(directory / "class");
  device.is_bridge = device.class_code && is_bridge_class(*device.class_code);
  if (const auto vendor = hex_of(directory / "vendor")) device.vendor = static_cast<std::uint16_t>(*vendor);
  if (const auto number = hex_of(directory / "device")) device.device = static_cast<std::uint16_t>(*number);
  device.link = link_of(directory, "current");
  device.slot = link_of(directory, "max");
  device.numa_node = small_count(directory / "numa_node");
  device.where = {.file = directory.string(), .line = 0};
  const std::string config = read_small_file(directory / "config", kBytesMax);
  read_pci_config({reinterpret_cast<const unsigned char*>(config.data()), config.size()}, device);
  return device;
}

bool is_wanted(const PciDevice& device) {
  if (!device.class_code) return false;
  const std::uint32_t code = *device.class_code;
  return device.is_bridge || is_gpu_class(code) || is_nic_class(code) || is_nvswitch_class(code);
}

/// ".../devices/pci0000:17/0000:17:00.0/...": the folder of a root bus holds all that is below it.
std::optional<PciRootBus> root_bus_of(const fs::path& real) {
  for (const fs::path& part : real) {
    const std::string name = part.string();
    if (!name.starts_with("pci")) continue;
    const auto first = parse_pci_bus_id(concat(name.substr(3), ":00.0"));
    if (first.is_ok()) return PciRootBus{.domain = first.value().domain, .bus = first.value().bus};
  }
  return std::nullopt;
}

/// The folder of a device lies in that of the bridge above it.
void find_parents(const std::vector<fs::path>& directories, Machine& machine) {
  std::map<PciBusId, int> known;
  for (std::size_t at = 0; at < machine.pci.size(); ++at) known[machine.pci[at].id] = static_cast<int>(at);
  for (std::size_t at = 0; at < machine.pci.size(); ++at) {
    std::error_code error;
    const fs::path real = fs::canonical(directories[at], error);
    if (error) continue;
    machine.pci[at].root_bus = root_bus_of(real);
    const auto above = parse_pci_bus_id(real.parent_path().filename().string());
    if (!above.is_ok()) continue;
    const auto parent = known.find(above.value());
    if (parent != known.end() && parent->second != static_cast<int>(at))
      machine.pci[at].parent = parent->second;
  }
}

void add_gpu(const fs::path& directory, int position, Reading& reading) {
  const PciDevice& device = reading.machine.pci[static_cast<std::size_t>(position)];
  if (gpu_vendor_of(device.vendor) == GpuVendor::unknown) return;
  std::error_code error;
  if (!fs::exists(directory / "driver", error)) {
    add_skipped(reading.skipped, device.where, device.id.to_text(),
                "a display controller that no driver serves is not taken for a GPU");
    return;
  }
  Gpu& gpu = reading.machine.gpus.emplace_back();
  gpu.index = static_cast<int>(reading.machine.gpus.size()) - 1;
  gpu.bus = device.id;
  gpu.pci = position;
  gpu.vendor = gpu_vendor_of(device.vendor);
  gpu.numa_node = device.numa_node;
  gpu.where = device.where;
}

/// Names are those of the verbs device, else of the network interface.
void add_nic(const fs::path& directory, int position, Reading& reading) {
  const PciDevice& device = reading.machine.pci[static_cast<std::size_t>(position)];
  const auto verbs = sorted_entries(directory / "infiniband");
  const auto interfaces = sorted_entries(directory / "net");
  if (verbs.empty() && interfaces.empty()) return;  // no driver that ranks could use
  Nic& nic = reading.machine.nics.emplace_back();
  nic.name = (verbs.empty() ? interfaces : verbs).front().filename().string();
  nic.bus = device.id;
  nic.pci = position;
  nic.numa_node = device.numa_node;
  nic.is_rdma = !verbs.empty();
  nic.where = device.where;
  if (nic.is_rdma) return;  // ports: sysfs_ib
  for (const fs::path& interface : interfaces) {
    Port& port = nic.ports.emplace_back();
    port.number = static_cast<int>(nic.ports.size());
    port.net_name = interface.filename().string();
    port.where = nic.where;
  }
}

/// x86 only: the CPU says whether a hypervisor runs it. The first CPU's flags are within the first bytes.
std::optional<bool> is_virtual(const fs::path& root) {
  const std::string text = read_small_file(root / "proc/cpuinfo", kBytesMax);
  const auto flags = between(text, "\nflags", "\n");
  if (!flags) return std::nullopt;
  const auto words = words_of(*flags);
  return std::ranges::find(words, "hypervisor") != words.end();
}

void add_memory_nodes(const fs::path& root, Machine& machine) {
  for (const fs::path& directory : sorted_entries(root / "sys/devices/system/node")) {
    const std::string name = directory.filename().string();
    const auto id = name.starts_with("node") ? parse_count(name.substr(4)) : std::nullopt;
    if (!id || *id > 1 << 20 || machine.numa_nodes.size() >= kDevicesMax) continue;
    NumaNode& node = machine.numa_nodes.emplace_back();
    node.id = static_cast<int>(*id);
    node.where = {.file = directory.string(), .line = 0};
    std::error_code error;
    const std::string cpus = line_of(directory / "cpulist");
    if (cpus.empty() && fs::exists(directory / "cpulist", error))
      node.cpus = std::vector<int>{};
    else
      node.cpus = parse_cpu_list(cpus);
  }
  std::ranges::sort(machine.numa_nodes, {}, &NumaNode::id);
  for (const NumaNode& from : machine.numa_nodes) {
    const std::string text = line_of(from.where.file + "/distance");
    const auto values = words_of(text);
    for (std::size_t at = 0; at < values.size() && values.size() == machine.numa_nodes.size(); ++at) {
      const auto value = parse_count(values[at]);
      if (value && *value > 0 && *value <= 255)
        machine.numa_distances.push_back(
            {.host = 0, .from = from.id, .to = machine.numa_nodes[at].id, .value = static_cast<int>(*value)});
    }
  }
}

}  // namespace

Reading read(const fs::path& root) {
  Reading reading{
      .file = (root / "sys").string(), .format = "sysfs", .machine = {}, .job = {}, .skipped = {}};
  Machine& machine = reading.machine;
  Host& host = machine.hosts.emplace_back();
  host.name = line_of(root / "proc/sys/kernel/hostname");
  host.product = line_of(root / "sys/class/dmi/id/product_name");
  host.is_virtual = is_virtual(root);
  const fs::path devices = root / "sys/bus/pci/devices";
  std::vector<fs::path> directories;
  for (const fs::path& entry : sorted_entries(devices)) {
    const auto id = parse_pci_bus_id(entry.filename().string());
    if (!id.is_ok() || machine.pci.size() >= kDevicesMax) continue;
    PciDevice device = device_of(entry, id.value());
    if (!is_wanted(device)) continue;
    machine.pci.push_back(std::move(device));
    directories.push_back(entry);
  }
  std::error_code error;
  machine.has_gpu_evidence = machine.has_nic_evidence = fs::is_directory(devices, error);
  if (!machine.has_gpu_evidence)
    add_skipped(reading.skipped, {devices.string(), 0}, "",
                "there is no PCI in this /sys: devices are unknown");
  find_parents(directories, machine);
  for (std::size_t at = 0; at < machine.pci.size(); ++at) {
    const std::uint32_t code = machine.pci[at].class_code.value_or(0);
    if (is_gpu_class(code)) add_gpu(directories[at], static_cast<int>(at), reading);
    if (is_nic_class(code)) add_nic(directories[at], static_cast<int>(at), reading);
  }
  const bool has_bridges = std::ranges::any_of(machine.pci, &PciDevice::is_bridge);
  if (has_bridges && std::ranges::none_of(machine.pci, [](const PciDevice& d) {
        return d.max_read_request_bytes.has_value();
      }))
    add_skipped(reading.skipped, {devices.string(), 0}, "config",
                "capabilities are hidden without root: ACS, relaxed ordering and request sizes are unknown");
  add_memory_nodes(root, machine);
  return reading;
}

}  // namespace ringcomm::inline v0::topology::sysfs_pci
