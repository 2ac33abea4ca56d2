// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nccl_topo_builder.hpp"

#include <algorithm>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/pci_class.hpp"
#include "topology/readers/reader.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::nccl_topo_xml {
namespace {

/// Files that people write put 0 or ffff where they do not know.
std::optional<std::uint16_t> id_attribute(pugi::xml_node node, const char* name) {
  const auto value = hex_attribute(node, name);
  if (!value || *value == 0 || *value >= 0xffff) return std::nullopt;
  return static_cast<std::uint16_t>(*value);
}

std::optional<int> positive_attribute(pugi::xml_node node, const char* name) {
  const auto value = int_attribute(node, name);
  return value && *value > 0 ? value : std::nullopt;
}

bool is(pugi::xml_node node, std::string_view name) { return node.name() == name; }
bool is_element(pugi::xml_node node) { return node.type() == pugi::node_element; }

}  // namespace

Status Builder::add_system(pugi::xml_node system) {
  const int version = int_attribute(system, "version").value_or(0);
  is_rccl_ = version == 2;
  if (version != 1 && version != 2) skip(system, "version is neither 1 (NCCL) nor 2 (RCCL); read as 1");
  for (const auto child : system.children()) {
    if (is(child, "cpu")) {
      RINGCOMM_TRY(add_cpu(child));
    } else if (is_element(child)) {
      skip(child, "no <cpu> (the reader knows nothing else here)");
    }
  }
  machine_.has_gpu_evidence = machine_.has_link_evidence = !gpu_elements_.empty();
  add_classed_devices();
  add_links();
  return {};
}

int Builder::host_of(pugi::xml_node cpu) {
  const std::string name = cpu.attribute("host_hash").value();
  const auto known = std::ranges::find(machine_.hosts, name, &Host::name);
  if (known != machine_.hosts.end()) return static_cast<int>(known - machine_.hosts.begin());
  machine_.hosts.push_back({.name = name, .product = {}, .is_virtual = {}});
  return static_cast<int>(machine_.hosts.size()) - 1;
}

Status Builder::add_cpu(pugi::xml_node cpu) {
  RINGCOMM_TRY(check_count(cpu, machine_.numa_nodes.size()));
  const auto id = int_attribute(cpu, "numaid");
  if (!id) return document_.missing(cpu, "numaid");
  Place place{.host = host_of(cpu), .numa_node = {}, .pci = {}};
  if (*id >= 0) place.numa_node = id;  // -1: NCCL does not know the node
  if (std::ranges::any_of(machine_.numa_nodes,
                          [&](const NumaNode& node) { return node.host == place.host && node.id == *id; })) {
    skip(cpu, "this numaid of this host is listed twice; the first one's affinity counts");
  } else {
    NumaNode& node = machine_.numa_nodes.emplace_back();
    node.host = place.host;
    node.id = *id;
    node.where = document_.where(cpu);
    add_affinity(cpu, node);
  }
  describe_package(cpu, place.host);
  return add_devices(cpu, place);
}

void Builder::add_affinity(pugi::xml_node cpu, NumaNode& node) {
  const std::string_view mask = cpu.attribute("affinity").value();
  if (mask.empty()) return;
  node.cpus = parse_cpu_mask(mask);
  if (!node.cpus) skip(cpu, "affinity is no mask of comma groups of 32 bits");
}

void Builder::describe_package(pugi::xml_node cpu, int host) {
  Package package;
  package.host = host;
  package.vendor = cpu.attribute("vendor").value();
  package.arch = cpu.attribute("arch").value();
  package.family = int_attribute(cpu, "familyid");
  package.model = int_attribute(cpu, "modelid");
  if (package.vendor.empty() && package.arch.empty() && !package.family && !package.model) return;
  for (const Package& known : machine_.packages) {
    if (known.host != host) continue;
    if (known.vendor == package.vendor && known.arch == package.arch && known.family == package.family &&
        known.model == package.model)
      return;
    ++package.id;
  }
  machine_.packages.push_back(std::move(package));
}

// Recurses no deeper than kDepthMax, which the document was checked for.
Status Builder::add_devices(pugi::xml_node parent, const Place& place) {
  for (const auto child : parent.children()) {
    if (is(child, "pci")) {
      RINGCOMM_TRY(add_pci(child, place));
    } else if (is(child, "gpu")) {
      RINGCOMM_TRY(add_gpu(child, place));
    } else if (is(child, "nic")) {
      RINGCOMM_TRY(add_devices(child, place));
    } else if (is(child, "net")) {
      RINGCOMM_TRY(add_net(child, place));
    } else if (is_element(child)) {
      skip(child, "not an element that the reader knows here");
    }
  }
  return {};
}

PciDevice Builder::pci_device(pugi::xml_node node, PciBusId id, const Place& place) const {
  PciDevice device;
  device.host = place.host;
  device.id = id;
  device.parent = place.pci;
  device.class_code = hex_attribute(node, "class");
  device.is_bridge = (device.class_code && is_bridge_class(*device.class_code)) || node.child("pci");
  device.vendor = id_attribute(node, "vendor");
  device.device = id_attribute(node, "device");
  device.link.speed_text = shown(node.attribute("link_speed").value());
  device.link.gt_per_s = parse_link_speed(node.attribute("link_speed").value());
  device.link.width = positive_attribute(node, "link_width");
  device.numa_node = place.numa_node;
  device.where = document_.where(node);
  return device;
}

/// A device that is listed below two CPUs is one device whose node is unknown.
std::optional<int> Builder::known_pci(const PciDevice& device, pugi::xml_node node) {
  const auto known = std::ranges::find_if(machine_.pci, [&](const PciDevice& other) {
    return other.host == device.host && other.id == device.id;
  });
  if (known == machine_.pci.end()) return std::nullopt;
  if (known->numa_node != device.numa_node) known->numa_node.reset();
  skip(node, "this busid of this host is listed twice; taken as one device");
  return static_cast<int>(known - machine_.pci.begin());
}

Status Builder::add_pci(pugi::xml_node node, const Place& place) {
  RINGCOMM_TRY(check_count(node, machine_.pci.size()));
  const auto id = parse_pci_bus_id(trimmed(node.attribute("busid").value()));
  if (!id.is_ok()) return document_.missing(node, "busid");
  const PciDevice device = pci_device(node, id.value(), place);
  if (!device.link.speed_text.empty() && !device.link.gt_per_s)
    skip(node, "link_speed is no number of GT/s: unknown (NCCL takes it for Gen3)");
  Place inside = place;
  inside.pci = known_pci(device, node);
  if (!inside.pci) {
    machine_.pci.push_back(device);
    inside.pci = static_cast<int>(machine_.pci.size()) - 1;
  }
  inside.numa_node = machine_.pci[static_cast<std::size_t>(*inside.pci)].numa_node;
  return add_devices(node, inside);
}

Status Builder::add_gpu(pugi::xml_node node, const Place& place) {
  RINGCOMM_TRY(check_count(node, machine_.gpus.size()));
  const auto index = int_attribute(node, "dev");
  if (!index) return document_.missing(node, "dev");
  const auto is_same = [&](const Gpu& other) { return other.host == place.host && other.index == *index; };
  if (std::ranges::any_of(machine_.gpus, is_same)) {
    skip(node, "the second <gpu> of one dev on one host; the first one counts");
    return {};
  }
  Gpu gpu;
  gpu.host = place.host;
  gpu.index = *index;
  gpu.pci = place.pci;
  gpu.vendor = is_rccl_ ? GpuVendor::amd : GpuVendor::nvidia;
  if (place.pci) {
    const PciDevice& device = machine_.pci[static_cast<std::size_t>(*place.pci)];
    gpu.bus = device.id;
    if (std::ranges::find(machine_.gpus, place.pci, &Gpu::pci) != machine_.gpus.end()) {
      skip(node, "the second <gpu> of one PCI function; the first one counts");
      return {};
    }
  }
  // RCCL's sm is no compute capability; gcn names the architecture.
  if (!is_rccl_) gpu.compute_capability = positive_attribute(node, "sm");
  if (const auto gcn = node.attribute("gcn")) gpu.name = concat("gfx", shown(gcn.value()));
  gpu.rank = int_attribute(node, "rank");
  gpu.gpu_direct = flag_attribute(node, "gdr");
  gpu.numa_node = place.numa_node;
  gpu.where = document_.where(node);
  gpu_elements_.emplace_back(static_cast<int>(machine_.gpus.size()), node);
  machine_.gpus.push_back(std::move(gpu));
  return {};
}

/// GPUs and NICs that only a PCI class shows. A dump of NCCL's holds the GPUs of the job only, each with an
/// element of its own, so there a class adds none.
void Builder::add_classed_devices() {
  for (std::size_t at = 0; at < machine_.pci.size(); ++at) {
    const PciDevice& device = machine_.pci[at];
    const int position = static_cast<int>(at);
    if (!device.class_code) continue;
    if (gpu_elements_.empty() && is_gpu_class(*device.class_code)) {
      machine_.has_gpu_evidence = true;
      Gpu& gpu = machine_.gpus.emplace_back();
      gpu.host = device.host;
      gpu.bus = device.id;
      gpu.pci = position;
      gpu.vendor = gpu_vendor_of(device.vendor);
      gpu.numa_node = device.numa_node;
      gpu.where = device.where;
    } else if (is_nic_class(*device.class_code)) {
      machine_.has_nic_evidence = true;
      if (std::ranges::find(machine_.nics, std::optional(position), &Nic::pci) != machine_.nics.end())
        continue;
      if (!gpu_elements_.empty()) continue;
      Nic& nic = machine_.nics.emplace_back();
      nic.host = device.host;
      nic.name = device.id.to_text();
      nic.bus = device.id;
      nic.pci = position;
      nic.numa_node = device.numa_node;
      nic.where = device.where;
    }
  }
  if (gpu_elements_.empty()) number_gpus();
}

/// By bus id on each host, as nvidia-smi does: people write these files in any order of NUMA nodes.
void Builder::number_gpus() {
  std::vector<std::pair<PciBusId, Gpu*>> gpus;
  for (Gpu& gpu : machine_.gpus) gpus.emplace_back(*gpu.bus, &gpu);
  std::ranges::sort(gpus, {}, &std::pair<PciBusId, Gpu*>::first);
  std::vector<int> next_index(machine_.hosts.size(), 0);
  for (const auto& [bus, gpu] : gpus) gpu->index = next_index[static_cast<std::size_t>(gpu->host)]++;
}

void Builder::skip(pugi::xml_node node, std::string reason) {
  add_skipped(reading_.skipped, document_.where(node), shown_element(node), std::move(reason));
}

Status Builder::check_count(pugi::xml_node node, std::size_t count) {
  if (count < kDevicesMax && ++elements_ <= 16 * kDevicesMax) return {};
  return Status::corrupt_data(concat(document_.where(node).to_text(), ": more than ", kDevicesMax, " <",
                                     node.name(), "> (no machine has so many)"));
}

}  // namespace ringcomm::inline v0::topology::nccl_topo_xml
