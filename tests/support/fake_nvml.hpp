// SPDX-License-Identifier: Apache-2.0
// An NVML of two GPUs, each with two links to the other and one to a switch; a test breaks single queries.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "topology/readers/nvml_api.hpp"

namespace ringcomm::fake_nvml {

using topology::nvml::Api;
using topology::nvml::Bar1Memory;
using topology::nvml::Device;
using topology::nvml::FabricInfo;
using topology::nvml::PciInfo;
using topology::nvml::Return;

inline std::intptr_t number_of(Device device) { return reinterpret_cast<std::intptr_t>(device) - 1; }
inline void copy(const std::string& text, char* out, std::size_t size) {
  std::memcpy(out, text.c_str(), std::min(text.size() + 1, size));
}
inline PciInfo pci_of(std::intptr_t gpu) {
  PciInfo info{};
  copy("00000000:" + std::to_string(gpu + 1) + "B:00.0", info.bus_id, sizeof info.bus_id);
  info.pci_device_id = 0x233010de;
  return info;
}

inline Api two_gpus() {
  Api api;
  api.count = [](unsigned* count) { return *count = 2, 0; };
  api.handle = [](unsigned index, Device* device) {
    return *device = reinterpret_cast<Device>(static_cast<std::intptr_t>(index) + 1), 0;
  };
  api.pci = [](Device device, PciInfo* info) { return *info = pci_of(number_of(device)), 0; };
  api.uuid = [](Device device, char* text, unsigned size) {
    return copy("GPU-" + std::to_string(number_of(device)), text, size), 0;
  };
  api.name = [](Device, char* text, unsigned size) { return copy("Example GPU", text, size), 0; };
  api.compute_capability = [](Device, int* major, int* minor) { return *major = 9, *minor = 0, 0; };
  api.link_state = [](Device, unsigned link, int* state) { return link < 4 ? (*state = link != 3, 0) : 2; };
  api.link_remote = [](Device device, unsigned link, PciInfo* info) {
    *info = pci_of(1 - number_of(device));
    if (link == 2) copy("00000000:C0:00.0", info->bus_id, sizeof info->bus_id);
    return 0;
  };
  api.link_remote_type = [](Device, unsigned link, int* type) { return *type = link == 2 ? 2 : 0, 0; };
  api.p2p_status = [](Device, Device, int capability, int* status) {
    return *status = capability == 2 ? 3 : 0, 0;
  };
  api.pcie_generation = [](Device, unsigned* value) { return *value = 1, 0; };
  api.pcie_width = [](Device, unsigned* value) { return *value = 16, 0; };
  api.pcie_generation_max = [](Device, unsigned* value) { return *value = 5, 0; };
  api.pcie_width_max = [](Device, unsigned* value) { return *value = 16, 0; };
  api.bar1 = [](Device, Bar1Memory* bar1) { return bar1->total = 1ULL << 37, 0; };
  api.mig_mode = [](Device, unsigned* current, unsigned* pending) { return *current = 0, *pending = 0, 0; };
  api.compute_mode = [](Device, int* mode) { return *mode = 3, 0; };
  api.persistence_mode = [](Device, int* mode) { return *mode = 1, 0; };
  api.ecc_errors = [](Device, int, int, unsigned long long* errors) { return *errors = 7, 0; };
  api.remapped_rows = [](Device, unsigned* a, unsigned* b, unsigned* pending, unsigned* failed) {
    return *a = *b = 0, *pending = 1, *failed = 0, 0;
  };
  api.fabric_info = [](Device, FabricInfo* info) { return info->state = 3, info->clique_id = 5, 0; };
  api.clock_event_reasons = [](Device, unsigned long long* mask) { return *mask = 0x01 | 0x04 | 0x80, 0; };
  return api;
}

}  // namespace ringcomm::fake_nvml
