// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nvml.hpp"

#include <algorithm>
#include <array>

#include "topology/readers/nvml_asker.hpp"
#include "topology/readers/nvml_state.hpp"
#include "topology/readers/reader.hpp"

namespace ringcomm::inline v0::topology::nvml {
namespace {

std::optional<PciBusId> bus_of(const PciInfo& info) {
  const auto end = std::find(std::begin(info.bus_id), std::end(info.bus_id), '\0');
  const auto parsed =
      parse_pci_bus_id(std::string_view(info.bus_id, static_cast<std::size_t>(end - info.bus_id)));
  return parsed.is_ok() ? std::optional(parsed.value()) : std::nullopt;
}

/// GT/s of PCIe generations 1 to 6.
std::optional<double> gt_per_s_of(unsigned generation) {
  constexpr std::array<double, 6> kSpeeds{2.5, 5, 8, 16, 32, 64};
  return generation >= 1 && generation <= kSpeeds.size() ? std::optional(kSpeeds[generation - 1])
                                                         : std::nullopt;
}

class NvmlReader {
 public:
  explicit NvmlReader(const Api& api) : api_(api) {}

  Reading run() {
    const Asker ask("all GPUs", reading_.skipped);
    unsigned count = 0;
    machine_.hosts.emplace_back();
    if (!ask("count", api_.count, &count)) return std::move(reading_);
    machine_.has_gpu_evidence = true;
    for (unsigned index = 0; index < std::min<std::size_t>(count, kDevicesMax); ++index) add_gpu(index);
    for (std::size_t gpu = 0; gpu < devices_.size(); ++gpu) add_links(static_cast<int>(gpu));
    for (std::size_t from = 0; from < devices_.size(); ++from) {
      for (std::size_t to = 0; to < devices_.size(); ++to) {
        if (from != to) add_p2p(from, to);
      }
    }
    return std::move(reading_);
  }

 private:
  void add_gpu(unsigned index) {
    const Asker ask(concat("GPU", index), reading_.skipped);
    Device device = nullptr;
    PciInfo info{};
    if (!ask("handle", api_.handle, index, &device) || !ask("bus id", api_.pci, device, &info)) return;
    Gpu gpu;
    gpu.index = static_cast<int>(index);
    gpu.bus = bus_of(info);
    gpu.vendor = GpuVendor::nvidia;
    gpu.where = here();
    std::array<char, 96> text{};  // NVML_DEVICE_UUID_V2_BUFFER_SIZE, NVML_DEVICE_NAME_V2_BUFFER_SIZE
    if (ask("UUID", api_.uuid, device, text.data(), static_cast<unsigned>(text.size() - 1)))
      gpu.uuid = text.data();
    text = {};
    if (ask("name", api_.name, device, text.data(), static_cast<unsigned>(text.size() - 1)))
      gpu.name = text.data();
    int major = 0;
    int minor = 0;
    if (ask("compute capability", api_.compute_capability, device, &major, &minor))
      gpu.compute_capability = (major * 10) + minor;
    gpu.state = read_state(api_, device, ask);
    if (gpu.bus) gpu.pci = add_pci(device, *gpu.bus, info, ask);
    machine_.gpus.push_back(std::move(gpu));
    devices_.push_back(device);
  }

  int add_pci(Device device, PciBusId id, const PciInfo& info, const Asker& ask) {
    PciDevice pci;
    pci.id = id;
    pci.vendor = static_cast<std::uint16_t>(info.pci_device_id & 0xffff);
    pci.device = static_cast<std::uint16_t>(info.pci_device_id >> 16);
    pci.where = here();
    unsigned value = 0;
    if (ask("PCIe generation", api_.pcie_generation, device, &value)) pci.link.gt_per_s = gt_per_s_of(value);
    if (ask("PCIe width", api_.pcie_width, device, &value) && value > 0)
      pci.link.width = static_cast<int>(value);
    if (ask("PCIe generation at most", api_.pcie_generation_max, device, &value))
      pci.slot.gt_per_s = gt_per_s_of(value);
    if (ask("PCIe width at most", api_.pcie_width_max, device, &value) && value > 0)
      pci.slot.width = static_cast<int>(value);
    machine_.pci.push_back(pci);
    return static_cast<int>(machine_.pci.size()) - 1;
  }

  /// A GPU without NVLink answers "not supported" for link 0, one with fewer links "invalid argument" behind
  /// the last: both are answers.
  void add_links(int gpu) {
    const auto at = static_cast<std::size_t>(gpu);
    const Asker ask(concat("GPU", machine_.gpus[at].index), reading_.skipped);
    for (unsigned index = 0; index < kLinksMax; ++index) {
      if (api_.link_state == nullptr) {
        ask("NVLink state", api_.link_state, devices_[at], index, nullptr);
        return;
      }
      int state = 0;
      const Return error = api_.link_state(devices_[at], index, &state);
      if (error == kNotSupported || error == kInvalidArgument) break;
      NvLinkPort port;
      port.index = static_cast<int>(index);
      if (error == kSuccess) {
        port.is_active = state != 0;
      } else {
        // NCCL drops such a link without a word (spec topology, finding 4).
        add_skipped(reading_.skipped, here(),
                    concat("GPU", machine_.gpus[at].index, " NVLink ", index, " state"),
                    concat("NVML error ", error, ": whether the link is up is unknown"));
      }
      if (port.is_active == true) add_remote(gpu, index, port, ask);
      machine_.gpus[at].nvlink_ports.push_back(std::move(port));
    }
    machine_.has_link_evidence = true;
  }

  void add_remote(int gpu, unsigned index, NvLinkPort& port, const Asker& ask) {
    const Device device = devices_[static_cast<std::size_t>(gpu)];
    const std::string what = concat("NVLink ", index, " remote device");
    PciInfo info{};
    if (ask(what.c_str(), api_.link_remote, device, index, &info)) port.remote = bus_of(info);
    int type = -1;
    if (api_.link_remote_type != nullptr && api_.link_remote_type(device, index, &type) != kSuccess)
      type = -1;
    Link link;
    link.gpu = gpu;
    link.target = port.remote;
    link.count = 1;
    link.where = here();
    const auto peer = std::ranges::find_if(
        machine_.gpus, [&](const Gpu& other) { return port.remote && other.bus == port.remote; });
    if (peer != machine_.gpus.end()) {
      link.end = LinkEnd::gpu;
      link.peer = static_cast<int>(peer - machine_.gpus.begin());
    } else if (type == kRemoteSwitch || (port.remote && port.remote->is_hidden_switch())) {
      link.end = LinkEnd::nvswitch;
    } else if (type == kRemoteNpu) {
      link.end = LinkEnd::numa_node;
    }
    for (Link& known : machine_.links) {
      if (known.gpu == gpu && known.target == link.target && known.end == link.end) {
        known.count = known.count.value_or(0) + 1;
        return;
      }
    }
    machine_.links.push_back(std::move(link));
  }

  void add_p2p(std::size_t from, std::size_t to) {
    // nvmlGpuP2PCapsIndex_t and nvmlGpuP2PStatus_t, in the words of nvidia-smi topo -p2p
    constexpr std::array<std::string_view, 3> kCapabilities{"read", "write", "nvlink"};
    constexpr std::array<std::string_view, 7> kStatus{"OK", "CNS", "GNS", "TNS", "DR", "NS", "U"};
    const Asker ask(concat("GPU", machine_.gpus[from].index, " to GPU", machine_.gpus[to].index),
                    reading_.skipped);
    for (std::size_t capability = 0; capability < kCapabilities.size(); ++capability) {
      int status = -1;
      if (!ask("P2P status", api_.p2p_status, devices_[from], devices_[to], static_cast<int>(capability),
               &status))
        continue;
      P2pStatus cell;
      cell.from = static_cast<int>(from);
      cell.to = static_cast<int>(to);
      cell.capability = kCapabilities[capability];
      const bool is_known = status >= 0 && static_cast<std::size_t>(status) < kStatus.size();
      cell.status = kStatus[is_known ? static_cast<std::size_t>(status) : kStatus.size() - 1];
      cell.where = here();
      machine_.p2p.push_back(std::move(cell));
    }
  }

  const Api& api_;
  Reading reading_{.file = "NVML", .format = "nvml", .machine = {}, .job = {}, .skipped = {}};
  Machine& machine_ = reading_.machine;
  std::vector<Device> devices_{};  // beside Machine::gpus
};

}  // namespace

Reading read(const Api& api) { return NvmlReader(api).run(); }

}  // namespace ringcomm::inline v0::topology::nvml
