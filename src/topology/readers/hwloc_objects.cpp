// SPDX-License-Identifier: Apache-2.0
// The objects of hwloc's tree: packages, memory nodes, cores, and the PCI tree.
#include <algorithm>
#include <charconv>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/hwloc_bitmap.hpp"
#include "topology/readers/hwloc_builder.hpp"
#include "topology/readers/pci_class.hpp"
#include "topology/readers/reader.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::hwloc_xml {
namespace {

// Each CPU set is compared with all others, so these are lower than kDevicesMax. Linux has at most 1,024
// nodes (CONFIG_NODES_SHIFT 10).
constexpr std::size_t kNodesMax = 1024;
constexpr std::size_t kPackagesMax = 256;

std::string_view type_of(pugi::xml_node object) { return object.attribute("type").value(); }

/// NCCL's and our words for what uname says.
std::string arch_of(std::string_view machine) {
  if (machine == "aarch64") return "arm64";
  if (machine == "ppc64le") return "ppc64";
  return std::string(machine);
}

std::optional<std::uint32_t> hex(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::uint16_t> pci_number(std::optional<std::string_view> text) {
  const auto value = text ? hex(*text) : std::nullopt;
  if (!value || *value == 0 || *value >= 0xffff) return std::nullopt;
  return static_cast<std::uint16_t>(*value);
}

/// First bus of a host bridge's range, "0000:[17-19]": hwloc makes one such object of each root bus.
std::optional<PciRootBus> root_bus_of(std::string_view range) {
  const auto domain = hex(range.substr(0, range.find(':')));
  const auto bus = hex(between(range, ":[", "-").value_or(""));
  if (!domain || !bus || *bus > 0xff) return std::nullopt;
  return PciRootBus{.domain = *domain, .bus = static_cast<std::uint8_t>(*bus)};
}

}  // namespace

std::string info_of(pugi::xml_node object, std::string_view name) {
  for (const auto info : object.children("info")) {
    if (info.attribute("name").value() == name) return info.attribute("value").value();
  }
  return {};
}

Status Builder::add_topology(pugi::xml_node topology) {
  machine_.hosts.emplace_back();
  for (const auto object : topology.children("object")) RINGCOMM_TRY(add_object(object, {}));
  settle_places();
  machine_.has_gpu_evidence = machine_.has_nic_evidence = !machine_.pci.empty();
  if (machine_.pci.empty()) {
    skip(topology, "no PCI objects: this file cannot show devices (lstopo --whole-io writes them)");
  }
  add_gpus();
  add_nics();
  add_distances(topology);
  return {};
}

// Recurses no deeper than kDepthMax, which the document was checked for.
Status Builder::add_object(pugi::xml_node object, Place place) {
  const std::string_view type = type_of(object);
  const bool is_io = type == "Bridge" || type == "PCIDev" || type == "OSDev" || type == "Misc";
  if (!is_io && object.attribute("nodeset")) place.nodeset = object.attribute("nodeset").value();
  if (type == "Machine") {
    add_machine(object);
  } else if (type == "Package" || type == "Socket") {
    RINGCOMM_TRY(check_count(object, machine_.packages.size(), kPackagesMax));
    add_package(object);
    place.package = static_cast<int>(machine_.packages.size()) - 1;
  } else if (type == "NUMANode" || type == "Node") {
    RINGCOMM_TRY(check_count(object, machine_.numa_nodes.size(), kNodesMax));
    if (!int_attribute(object, "os_index")) return document_.missing(object, "os_index");
    add_numa_node(object, place);
  } else if (type == "PU") {
    if (!int_attribute(object, "os_index")) return document_.missing(object, "os_index");
    add_pu(object, place);
  } else if (type == "PCIDev" || (type == "Bridge" && object.attribute("pci_busid"))) {
    RINGCOMM_TRY(check_count(object, machine_.pci.size(), kDevicesMax));
    RINGCOMM_TRY(add_pci(object, place));
  } else if (type == "Bridge") {  // a host bridge
    place.root_bus = root_bus_of(object.attribute("bridge_pci").value());
  } else if (type == "OSDev") {
    RINGCOMM_TRY(check_count(object, os_devices_.size(), kDevicesMax));
    os_devices_.push_back({.name = object.attribute("name").value(),
                           .type = int_attribute(object, "osdev_type").value_or(-1),
                           .pci = place.pci,
                           .node = object});
  }
  const std::size_t cores_before = machine_.cores.size();
  std::vector<int> core;
  if (type == "Core") place.core = &core;
  for (const auto child : object.children("object")) RINGCOMM_TRY(add_object(child, place));
  if (!core.empty() && machine_.cores.size() == cores_before) {
    const auto nodes = parse_hwloc_bitmap(place.nodeset);
    machine_.cores.push_back({.package = place.package.value_or(0),
                              .memory_node = nodes && !nodes->empty() ? nodes->front() : -1,
                              .cpus = std::move(core)});
  }
  return {};
}

void Builder::add_machine(pugi::xml_node object) {
  Host& host = machine_.hosts.front();
  host.name = info_of(object, "HostName");
  host.product = info_of(object, "DMIProductName");
  if (host.product.empty()) host.product = info_of(object, "PlatformModel");
  arch_ = arch_of(info_of(object, "Architecture"));
  const std::string version = info_of(object, "hwlocVersion");
  if (version.empty()) return;
  LogEvent& event = reading_.job.events.emplace_back();
  event.kind = LogEventKind::version;
  event.values = {{"library", "hwloc"}, {"version", version}};
  event.where = document_.where(object);
}

void Builder::add_package(pugi::xml_node object) {
  const int position = static_cast<int>(machine_.packages.size());
  Package& package = machine_.packages.emplace_back();
  package.id = int_attribute(object, "os_index").value_or(position);
  package.vendor = info_of(object, "CPUVendor");
  package.model_name = info_of(object, "CPUModel");
  package.arch = arch_;
  const auto number = [&](std::string_view name) -> std::optional<int> {
    const auto value = parse_base0(info_of(object, name));
    if (!value || *value < 0 || *value > 1 << 20) return std::nullopt;
    return static_cast<int>(*value);
  };
  package.family = number("CPUFamilyNumber");
  package.model = number("CPUModelNumber");
  package_cpus_.push_back(
      parse_hwloc_bitmap(object.attribute("cpuset").value()).value_or(std::vector<int>{}));
  if (const auto gp = gp_index_of(object)) package_by_gp_[*gp] = position;
}

/// hwloc gives a node without CPUs the CPUs near it. A CPU has one node, so of several nodes with the same
/// CPUs only the first has them (a GPU's memory, HBM, CXL come behind).
void Builder::add_numa_node(pugi::xml_node object, const Place& place) {
  NumaNode node;
  node.id = *int_attribute(object, "os_index");
  node.package = place.package;
  node.subtype = object.attribute("subtype").value();
  node.where = document_.where(object);
  const auto memory = parse_base0(object.attribute("local_memory").value());
  if (memory && *memory > 0) node.memory_bytes = static_cast<std::uint64_t>(*memory);
  if (object.attribute("cpuset")) node.cpus = parse_hwloc_bitmap(object.attribute("cpuset").value());
  const bool has_older_twin = std::ranges::any_of(
      machine_.numa_nodes, [&](const NumaNode& other) { return node.cpus && other.cpus == node.cpus; });
  if (node.subtype == "GPUMemory" || has_older_twin) node.cpus = std::vector<int>{};
  const auto gpu = parse_pci_bus_id(info_of(object, "PCIBusID"));
  if (gpu.is_ok()) gpu_memory_[node.id] = gpu.value();
  machine_.numa_nodes.push_back(std::move(node));
}

void Builder::add_pu(pugi::xml_node object, const Place& place) {
  const int cpu = *int_attribute(object, "os_index");
  if (cpu < 0 || static_cast<std::size_t>(cpu) >= kCpusMax) return skip(object, "no CPU has such a number");
  if (place.core != nullptr) {
    place.core->push_back(cpu);
    return;
  }
  // Platforms that do not name cores leave a PU without one; it is then a core of its own.
  const auto nodes = parse_hwloc_bitmap(place.nodeset);
  machine_.cores.push_back({.package = place.package.value_or(0),
                            .memory_node = nodes && !nodes->empty() ? nodes->front() : -1,
                            .cpus = {cpu}});
}

Status Builder::add_pci(pugi::xml_node object, Place& place) {
  const auto id = parse_pci_bus_id(object.attribute("pci_busid").value());
  if (!id.is_ok()) return document_.missing(object, "pci_busid");
  PciDevice device;
  device.id = id.value();
  device.parent = place.pci;
  device.root_bus = place.root_bus;
  device.is_bridge = type_of(object) == "Bridge";
  // "0302 [10de:1db8] [10de:131d] a1": class, then vendor and device
  const std::string_view type = object.attribute("pci_type").value();
  const auto pci_class = hex(type.substr(0, type.find(' ')));
  if (pci_class && *pci_class > 0 && *pci_class < 0xffff) device.class_code = *pci_class << 8;
  device.vendor = pci_number(between(type, "[", ":"));
  device.device = pci_number(between(between(type, "[", "]").value_or(""), ":", ""));
  const auto speed = number_attribute(object, "pci_link_speed");
  if (speed && *speed > 0) device.link.stated_gb_per_s = speed;
  device.where = document_.where(object);
  place.pci = static_cast<int>(machine_.pci.size());
  if (std::string_view(object.attribute("subtype").value()) == "NVSwitch" ||
      (device.class_code && is_nvswitch_class(*device.class_code)))
    nvswitches_.insert(*place.pci);
  machine_.pci.push_back(std::move(device));
  pci_nodesets_.push_back(place.nodeset);
  if (const auto gp = gp_index_of(object)) pci_by_gp_[*gp] = *place.pci;
  return {};
}

/// What needs all memory nodes: a device's node is the one node with CPUs near it, if it is one.
void Builder::settle_places() {
  for (std::size_t at = 0; at < machine_.pci.size(); ++at) {
    const auto near = parse_hwloc_bitmap(pci_nodesets_[at]);
    std::vector<int> ids;
    for (const NumaNode& node : machine_.numa_nodes) {
      if (near && !node.is_memory_only() && std::ranges::binary_search(*near, node.id))
        ids.push_back(node.id);
    }
    if (ids.size() == 1) machine_.pci[at].numa_node = ids.front();
  }
  for (NumaNode& node : machine_.numa_nodes) {
    for (std::size_t at = 0; at < package_cpus_.size() && !node.package; ++at) {
      if (node.cpus && !node.cpus->empty() && std::ranges::includes(package_cpus_[at], *node.cpus))
        node.package = static_cast<int>(at);
    }
  }
}

void Builder::skip(pugi::xml_node node, std::string reason) {
  add_skipped(reading_.skipped, document_.where(node), shown_element(node), std::move(reason));
}

Status Builder::check_count(pugi::xml_node node, std::size_t count, std::size_t count_max) const {
  if (count < count_max) return {};
  return Status::corrupt_data(concat(document_.where(node).to_text(), ": more than ", count_max,
                                     " objects of type ", shown(type_of(node)), " (no machine has so many)"));
}

}  // namespace ringcomm::inline v0::topology::hwloc_xml
