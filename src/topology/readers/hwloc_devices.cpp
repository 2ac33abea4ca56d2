// SPDX-License-Identifier: Apache-2.0
// GPUs and NICs from PCI functions and the OS devices below them: one device per function.
#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "core/parse.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/readers/hwloc_builder.hpp"
#include "topology/readers/pci_class.hpp"
#include "topology/readers/reader.hpp"
#include "topology/readers/text_lines.hpp"

namespace ringcomm::inline v0::topology::hwloc_xml {
namespace {

// hwloc's numbers of osdev_type in formats 1 and 2; GPUs are 1 or 5, by version, and are told by name.
constexpr int kNetwork = 2;
constexpr int kOpenFabrics = 3;

/// In the order in which their numbers are trusted as the GPU's index: a library that sees all GPUs first.
constexpr std::array<std::string_view, 4> kGpuNames{"nvml", "rsmi", "ze", "cuda"};

/// "nvml3" -> 3 for prefix "nvml".
std::optional<int> number_after(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = parse_count(name.substr(prefix.size()));
  if (!number || *number >= static_cast<std::int64_t>(kDevicesMax)) return std::nullopt;
  return static_cast<int>(*number);
}

std::string first_of(std::string a, std::string b) { return a.empty() ? std::move(b) : std::move(a); }

}  // namespace

void Builder::add_gpus() {
  std::map<int, std::vector<const OsDevice*>> below;  // position in Machine::pci
  for (const OsDevice& device : os_devices_) {
    if (device.pci) below[*device.pci].push_back(&device);
  }
  for (std::size_t at = 0; at < machine_.pci.size(); ++at) add_gpu(static_cast<int>(at), below);
  number_gpus();
}

void Builder::add_gpu(int pci, std::map<int, std::vector<const OsDevice*>>& os_devices) {
  const PciDevice& device = machine_.pci[static_cast<std::size_t>(pci)];
  // BMC video is of a display class too, but of no maker of GPUs.
  const bool is_display = device.class_code && is_gpu_class(*device.class_code) &&
                          gpu_vendor_of(device.vendor) != GpuVendor::unknown;
  bool is_gpu = is_display && (!os_devices[pci].empty() || os_devices_.empty());
  Gpu gpu;
  gpu.vendor = gpu_vendor_of(device.vendor);
  std::optional<int> number;
  std::size_t best = kGpuNames.size();
  for (const OsDevice* const os_device : os_devices[pci]) {
    for (std::size_t kind = 0; kind < kGpuNames.size(); ++kind) {
      const auto found = number_after(os_device->name, kGpuNames[kind]);
      if (!found) continue;
      is_gpu = true;
      if (kind < best) number = found;
      best = std::min(best, kind);
      if (gpu.vendor == GpuVendor::unknown && kind != 2)
        gpu.vendor = kind == 1 ? GpuVendor::amd : GpuVendor::nvidia;
      gpu.name = first_of(gpu.name, info_of(os_device->node, "GPUModel"));
      gpu.uuid = first_of(
          gpu.uuid, first_of(info_of(os_device->node, "NVIDIAUUID"), info_of(os_device->node, "AMDUUID")));
    }
  }
  // hwloc names the GPU of a node of GPU memory, which only NVIDIA's driver makes.
  for (const NumaNode& node : machine_.numa_nodes) {
    if (node.subtype != "GPUMemory") continue;
    const auto it = gpu_memory_.find(node.id);
    if (it == gpu_memory_.end() || it->second != device.id) continue;
    is_gpu = true;
    gpu.vendor = GpuVendor::nvidia;
    gpu.memory_numa_node = node.id;
  }
  if (!is_gpu) {
    if (is_display)
      add_skipped(
          reading_.skipped, device.where, device.id.to_text(),
          "a display controller that no driver serves (no OS device below it) is not taken for a GPU");
    return;
  }
  gpu.bus = device.id;
  gpu.pci = pci;
  gpu.numa_node = device.numa_node;
  gpu.where = device.where;
  if (number) gpu_preference_[static_cast<int>(machine_.gpus.size())] = *number;
  machine_.gpus.push_back(std::move(gpu));
}

/// A number that an OS device's name gives is kept, once; the other GPUs get the free ones in the file's
/// order.
void Builder::number_gpus() {
  std::set<int> taken;
  std::vector<std::size_t> rest;
  for (std::size_t at = 0; at < machine_.gpus.size(); ++at) {
    const auto preferred = gpu_preference_.find(static_cast<int>(at));
    if (preferred != gpu_preference_.end() && taken.insert(preferred->second).second)
      machine_.gpus[at].index = preferred->second;
    else
      rest.push_back(at);
  }
  int next = 0;
  for (const std::size_t at : rest) {
    while (taken.contains(next)) ++next;
    machine_.gpus[at].index = next++;
  }
}

void Builder::add_nics() {
  std::set<int> with_rdma;  // positions in Machine::pci
  for (const OsDevice& device : os_devices_) {
    if (device.type == kOpenFabrics && device.pci) with_rdma.insert(*device.pci);
  }
  for (const OsDevice& device : os_devices_) {
    const bool is_rdma = device.type == kOpenFabrics;
    if (!is_rdma && (device.type != kNetwork || (device.pci && with_rdma.contains(*device.pci)))) continue;
    if (device.name.empty()) {
      skip(device.node, "an OS device without a name");
      continue;
    }
    Nic& nic = machine_.nics.emplace_back();
    nic.name = device.name;
    nic.is_rdma = is_rdma;
    nic.where = document_.where(device.node);
    nic.pci = device.pci;
    if (device.pci) {
      nic.bus = machine_.pci[static_cast<std::size_t>(*device.pci)].id;
      nic.numa_node = machine_.pci[static_cast<std::size_t>(*device.pci)].numa_node;
    }
    if (is_rdma) {
      add_rdma_ports(device, nic);
    } else {
      Port& port = nic.ports.emplace_back();
      port.net_name = device.name;
      port.where = nic.where;
    }
    machine_.has_nic_evidence = true;
  }
}

/// <info name="Port1State" value="4"/> and the like; ports without a state are not shown by hwloc.
void Builder::add_rdma_ports(const OsDevice& device, Nic& nic) {
  constexpr int kPortsMax = 16;
  std::string guid = info_of(device.node, "NodeGUID");
  std::erase(guid, ':');
  if (guid.size() == 16) nic.guid = concat("0x", guid);
  nic.model = info_of(device.node, "HCAType");
  for (int number = 1; number <= kPortsMax; ++number) {
    const std::string state = info_of(device.node, concat("Port", number, "State"));
    if (state.empty()) continue;
    Port& port = nic.ports.emplace_back();
    port.number = number;
    port.where = nic.where;
    // IB_PORT_DOWN to IB_PORT_ACTIVE of ib_verbs.h
    const auto value = parse_count(state);
    if (value && *value >= 1 && *value <= 4) port.state = static_cast<PortState>(*value);
    const auto lid = parse_base0(info_of(device.node, concat("Port", number, "LID")));
    if (lid && *lid > 0 && *lid <= 0xffff) port.lid = static_cast<int>(*lid);
    const std::string gid = info_of(device.node, concat("Port", number, "GID0"));
    if (!gid.empty()) port.gids.push_back({.index = 0, .address = gid, .type = {}, .net_device = {}});
  }
}

}  // namespace ringcomm::inline v0::topology::hwloc_xml
