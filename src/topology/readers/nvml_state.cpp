// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/nvml_state.hpp"

#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

namespace ringcomm::inline v0::topology::nvml {
namespace {

/// nvmlComputeMode_t; 1 was "exclusive thread" until CUDA 8.
std::string compute_mode_text(int mode) {
  switch (mode) {
    case 0:
      return "Default";
    case 1:
      return "Exclusive_Thread";
    case 2:
      return "Prohibited";
    case 3:
      return "Exclusive_Process";
    default:
      return {};
  }
}

std::string fabric_state_text(unsigned char state) {
  constexpr std::array<std::string_view, 4> kNames{"not supported", "not started", "in progress",
                                                   "completed"};
  return state < kNames.size() ? std::string(kNames[state]) : std::string();
}

std::string cluster_text(const FabricInfo& info) {
  std::string text;
  std::array<char, 4> digits{};
  for (const unsigned char byte : info.cluster_uuid) {
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned>(byte));
    text += digits.data();
  }
  return concat(text, ".", info.clique_id);
}

/// nvmlClocksEventReasons; GPU idle (bit 0) is left out: it is no reason to act.
std::string reasons_text(unsigned long long mask) {
  constexpr std::array<std::pair<unsigned long long, std::string_view>, 8> kReasons{{
      {0x02, "applications clocks setting"},
      {0x04, "SW power cap"},
      {0x08, "HW slowdown"},
      {0x10, "sync boost"},
      {0x20, "SW thermal slowdown"},
      {0x40, "HW thermal slowdown"},
      {0x80, "HW power brake slowdown"},
      {0x100, "display clocks setting"},
  }};
  std::string text;
  for (const auto& [bit, name] : kReasons) {
    if ((mask & bit) != 0) text += concat(text.empty() ? "" : ", ", name);
  }
  return text.empty() ? "none" : text;
}

}  // namespace

GpuState read_state(const Api& api, Device device, const Asker& ask) {
  GpuState state;
  unsigned current = 0;
  unsigned pending = 0;
  if (ask("MIG mode", api.mig_mode, device, &current, &pending)) state.mig_enabled = current != 0;
  int mode = -1;
  if (ask("compute mode", api.compute_mode, device, &mode)) state.compute_mode = compute_mode_text(mode);
  int persistence = 0;
  if (ask("persistence mode", api.persistence_mode, device, &persistence))
    state.persistence = persistence != 0;
  Bar1Memory bar1{};
  if (ask("BAR1 size", api.bar1, device, &bar1) && bar1.total > 0) state.bar1_bytes = bar1.total;
  unsigned long long errors = 0;
  if (ask("ECC errors", api.ecc_errors, device, kUncorrected, kVolatile, &errors))
    state.ecc_uncorrected = errors;
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned failed = 0;
  if (ask("remapped rows", api.remapped_rows, device, &corrected, &uncorrected, &pending, &failed)) {
    state.remap_pending = pending != 0;
    state.remap_failed = failed != 0;
  }
  FabricInfo fabric{};
  if (ask("fabric state", api.fabric_info, device, &fabric)) {
    state.fabric_state = fabric_state_text(fabric.state);
    if (fabric.state == 3) state.fabric_cluster = cluster_text(fabric);
  }
  unsigned long long reasons = 0;
  if (ask("clock event reasons", api.clock_event_reasons, device, &reasons))
    state.clock_event_reasons = reasons_text(reasons);
  return state;
}

}  // namespace ringcomm::inline v0::topology::nvml
