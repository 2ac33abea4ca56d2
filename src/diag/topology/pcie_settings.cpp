// SPDX-License-Identifier: Apache-2.0
// PCI Express: settings of devices and of the platform (spec checks 7 to 10).
#include <algorithm>

#include "diag/topology/lookup.hpp"
#include "diag/topology/themes.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr int kReadRequestBytes = 4096;  // PCIe's maximum; captured H100 hosts use it
constexpr std::uint64_t kSmallBar1Bytes = std::uint64_t{256} << 20;  // what cards without resizable BAR have

/// CPUs on which writes of a NIC without relaxed ordering stay far below the link (ucx PR#8062, PR#10955):
/// AMD, Sapphire and Emerald Rapids. Nothing: no package of this host is known.
std::optional<bool> needs_relaxed_ordering(const Machine& machine, int host) {
  std::optional<bool> needs;
  for (const Package& package : machine.packages) {
    if (package.host != host || package.vendor.empty()) continue;
    const bool is_amd = package.vendor == "AuthenticAMD";
    if (!is_amd && !package.model) continue;
    const bool is_new_xeon =
        package.vendor == "GenuineIntel" && (package.model == 143 || package.model == 207);
    needs = needs.value_or(false) || is_amd || is_new_xeon;
  }
  return needs;
}

}  // namespace

void check_relaxed_ordering(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  for (const Endpoint& end : endpoints(machine)) {
    if (end.device.kind != PartKind::nic) continue;
    const PciDevice* device = function_of(machine, end);
    if (!device || !device->relaxed_ordering) {
      report.unknown(concat("relaxed ordering of ", name_of(machine, end.device), " is not in the evidence"),
                     Ask::lspci, device ? device->where : Where(), {end.device});
      continue;
    }
    if (*device->relaxed_ordering) {
      report.looked();
      continue;
    }
    const auto needs = needs_relaxed_ordering(machine, end.host);
    if (!needs) {
      report.unknown("whether this CPU needs relaxed ordering: its vendor and model are not in the evidence",
                     Ask::lstopo, device->where, {end.device});
    } else if (*needs) {
      report.problem({.read = concat(name_of(machine, end.device), " ", device->id.to_text(), ": RlxdOrd-"),
                      .wanted = "RlxdOrd+ on this CPU",
                      .where = device->where},
                     {end.device});
    } else {
      report.looked();
    }
  }
  report.word({.title = concat("relaxed ordering is off on ", report.devices_text(machine),
                               ", and this CPU needs it"),
               .fix = "export NCCL_IB_PCI_RELAXED_ORDERING=1 UCX_IB_PCI_RELAXED_ORDERING=on"});
}

void check_max_read_request(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  for (const Endpoint& end : endpoints(machine)) {
    const PciDevice* device = function_of(machine, end);
    if (!device || !device->max_read_request_bytes) {
      report.unknown(
          concat("maximum read request of ", name_of(machine, end.device), " is not in the evidence"),
          Ask::lspci, device ? device->where : Where(), {end.device});
      continue;
    }
    report.looked();
    if (*device->max_read_request_bytes >= kReadRequestBytes) continue;
    report.problem({.read = concat(name_of(machine, end.device), " ", device->id.to_text(), ": MaxReadReq ",
                                   *device->max_read_request_bytes, " bytes"),
                    .wanted = concat(kReadRequestBytes, " bytes"),
                    .where = device->where},
                   {end.device});
  }
  report.word(
      {.title = concat("maximum read request of ", report.devices_text(machine), " is below 4096 bytes"),
       .fix = "setpci -s <bus id> CAP_EXP+8.w=5000:7000",
       .needs_root = true});
}

void check_client_chipset(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  for (const Package& package : machine.packages) {
    if (package.model_name.empty()) continue;
    report.looked();
    if (!contains_ignoring_case(package.model_name, "Intel(R) Core(TM)")) continue;
    for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) {
      for (std::size_t nic = 0; nic < machine.nics.size(); ++nic) {
        if (!machine.nics[nic].is_rdma || machine.gpus[gpu].host != package.host) continue;
        const Path* path = path_between(input, gpu_ref(gpu), nic_ref(nic));
        if (!path || path->path_class != PathClass::phb) continue;
        report.problem({.read = concat(name_of(machine, gpu_ref(gpu)), " to ", name_of(machine, nic_ref(nic)),
                                       ": ", name_of(path->path_class), " on ", package.model_name),
                        .wanted = "both below one PCIe switch",
                        .where = machine.nics[nic].where},
                       {gpu_ref(gpu), nic_ref(nic)});
      }
    }
  }
  report.word(
      {.title = "a client CPU passes peer-to-peer writes between root ports, but no reads",
       .fix = "put GPU and NIC below one PCIe switch, or switch GPUDirect off: NCCL_NET_GDR_LEVEL=LOC"});
}

void check_bar1_small(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    if (!is_rdma_host(machine, gpu.host)) continue;
    if (!gpu.state.bar1_bytes) {
      report.unknown(concat("BAR1 size of ", name_of(machine, gpu_ref(i)), " is not in the evidence"),
                     Ask::live, gpu.where, {gpu_ref(i)});
      continue;
    }
    report.looked();
    if (*gpu.state.bar1_bytes > kSmallBar1Bytes) continue;
    report.problem(
        {.read = concat(name_of(machine, gpu_ref(i)), ": BAR1 of ", format_bytes(*gpu.state.bar1_bytes)),
         .wanted = "as large as the GPU's memory",
         .where = gpu.where},
        {gpu_ref(i)});
  }
  report.word({.title = concat("BAR1 of ", report.devices_text(machine),
                               " is too small for RDMA to the GPU's memory"),
               .fix = "enable Resizable BAR (above 4G decoding) in the BIOS",
               .needs_reboot = true});
}

}  // namespace ringcomm::inline v0::diag
