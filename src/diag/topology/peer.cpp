// SPDX-License-Identifier: Apache-2.0
// Peer access between GPUs, GPUDirect RDMA, and the fabric of multi-node NVLink (spec checks 20, 21, 22, 24,
// 25).
#include <algorithm>
#include <map>
#include <set>

#include "diag/topology/lookup.hpp"
#include "diag/topology/themes.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

std::string_view meaning(std::string_view status) {
  if (status == "CNS") return "the chipset does not support it";
  if (status == "GNS") return "the GPU or its driver does not support it";
  if (status == "TNS") return "the topology does not support it (ACS, IOMMU)";
  if (status == "DR") return "switched off by a registry key of the driver";
  if (status == "NS") return "not supported";
  return "refused";
}

/// NVML's and NCCL's fabric states; "3" is NVML_GPU_FABRIC_STATE_COMPLETED.
bool is_ready(std::string_view state) { return state == "completed" || state == "3"; }
bool has_fabric(std::string_view state) { return !state.empty() && state != "not supported" && state != "0"; }

bool has_switch(const Machine& machine, std::size_t gpu) {
  return std::ranges::any_of(machine.links, [&](const Link& link) {
    return link.gpu == static_cast<int>(gpu) && link.end == LinkEnd::nvswitch;
  });
}

}  // namespace

void check_p2p_refused(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  std::set<std::string> statuses;
  for (const P2pStatus& cell : machine.p2p) {
    const auto from = static_cast<std::size_t>(cell.from);
    const auto to = static_cast<std::size_t>(cell.to);
    // Atomics are extra; a pair without NVLink says NS for that capability and still has peer access.
    if (from >= machine.gpus.size() || to >= machine.gpus.size() || cell.capability == "nvlink" ||
        cell.capability == "atomics" || cell.capability == "prop")
      continue;
    if (cell.status.empty() || cell.status == "U") {
      report.unknown(concat("peer access from ", name_of(machine, gpu_ref(from)), " to ",
                            name_of(machine, gpu_ref(to)), " is unknown to the driver"),
                     Ask::p2p, cell.where, {gpu_ref(from), gpu_ref(to)});
      continue;
    }
    report.looked();
    if (cell.status == "OK" || cell.status == "X") continue;
    statuses.insert(cell.status);
    report.problem({.read = concat(name_of(machine, gpu_ref(from)), " to ", name_of(machine, gpu_ref(to)),
                                   ": ", cell.status, ", ", meaning(cell.status)),
                    .wanted = "OK",
                    .where = cell.where},
                   {gpu_ref(from), gpu_ref(to)});
  }
  for (const LogEvent* event : events_of(input, LogEventKind::p2p_disabled)) {
    report.problem({.read = std::string(event->value("text")),
                    .wanted = "peer access between NVLink neighbours",
                    .where = event->where},
                   {});
  }
  if (machine.p2p.empty() && machine.gpus.size() > 1) {
    report.unknown("peer access between GPUs is not in the evidence", Ask::p2p);
  }
  const bool is_topology = statuses.contains("TNS") || statuses.contains("CNS");
  report.word({.title = concat("no peer access between ", report.devices_text(machine),
                               statuses.empty() ? std::string() : concat(": ", meaning(*statuses.begin()))),
               .fix = is_topology ? "switch ACS redirect and IOMMU translation off (iommu=pt)"
                                  : "export NCCL_P2P_DISABLE=1: copies go through host memory",
               .needs_root = is_topology,
               .needs_reboot = is_topology});
}

void check_gpu_direct_disabled(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  std::set<std::string> hcas;
  for (const LogEvent* event : events_of(input, LogEventKind::gpu_direct)) {
    report.looked();
    if (event->value("state") == "Enabled") continue;
    hcas.insert(std::string(event->value("hca")));
    const std::string rank = event->device ? concat("GPU ", *event->device, ": ") : std::string();
    report.problem({.read = concat(rank, "GPU Direct RDMA Disabled for ", event->value("hca")),
                    .wanted = "Enabled",
                    .where = event->where},
                   {});
  }
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    if (!is_rdma_host(machine, gpu.host)) continue;
    if (!gpu.gpu_direct) {
      report.unknown(concat("GPUDirect RDMA of ", name_of(machine, gpu_ref(i)), " is not in the evidence"),
                     Ask::live, gpu.where, {gpu_ref(i)});
    } else if (!*gpu.gpu_direct) {
      report.problem({.read = concat(name_of(machine, gpu_ref(i)), ": no GPUDirect RDMA"),
                      .wanted = "1",
                      .where = gpu.where},
                     {gpu_ref(i)});
    } else {
      report.looked();
    }
  }
  report.word({.title = hcas.empty() ? concat("GPUDirect RDMA is off for ", report.devices_text(machine))
                                     : concat("GPUDirect RDMA is off on ", counted(hcas.size(), "HCA"),
                                              ": data goes through host memory"),
               .fix = "modprobe nvidia_peermem",
               .needs_root = true});
}

void check_gpu_direct_one_side(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  std::map<std::string, const LogEvent*> hosts_with;
  std::map<std::string, const LogEvent*> hosts_without;
  for (const LogEvent* event : events_of(input, LogEventKind::gpu_direct)) {
    (event->value("state") == "Enabled" ? hosts_with : hosts_without)[event->host] = event;
  }
  for (const auto& [host, event] : hosts_without) {
    if (hosts_with.empty() || hosts_with.contains(host)) continue;
    report.problem(
        {.read = concat("GPU Direct RDMA is off on ", host, " and on on ", hosts_with.begin()->first),
         .wanted = "the same on all hosts",
         .where = event->where},
        {});
  }
  std::vector<DeviceRef> off;
  bool has_on = false;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    if (!machine.nics[i].is_rdma) continue;
    for (const Port& port : machine.nics[i].ports) {
      if (!port.gpu_direct) continue;
      report.looked();
      has_on = has_on || *port.gpu_direct;
      if (!*port.gpu_direct) off.push_back(nic_ref(i));
    }
  }
  if (has_on) {
    for (const DeviceRef& nic : off) {
      report.problem({.read = concat(name_of(machine, nic), ": gdr=\"0\" while others have 1"),
                      .wanted = "gdr=\"1\" on all",
                      .where = machine.nics[static_cast<std::size_t>(nic.position)].where},
                     {nic});
    }
  }
  report.word({.title = "GPUDirect RDMA is on at one side only",
               .fix = "install the same driver and nvidia_peermem on all hosts",
               .needs_root = true});
}

void check_fabric_not_ready(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const Gpu& gpu = machine.gpus[i];
    if (gpu.state.fabric_state.empty()) {
      if (has_switch(machine, i)) {
        report.unknown(concat("fabric state of ", name_of(machine, gpu_ref(i)), " is not in the evidence"),
                       Ask::live, gpu.where, {gpu_ref(i)});
      }
      continue;
    }
    report.looked();
    if (!has_fabric(gpu.state.fabric_state) || is_ready(gpu.state.fabric_state)) continue;
    report.problem({.read = concat(name_of(machine, gpu_ref(i)), ": fabric ", gpu.state.fabric_state),
                    .wanted = "completed",
                    .where = gpu.where},
                   {gpu_ref(i)});
  }
  for (const LogEvent* event : events_of(input, LogEventKind::fabric)) {
    const std::string_view state = event->value("state");
    if (state.empty()) continue;
    report.looked();
    if (!has_fabric(state) || is_ready(state)) continue;
    report.problem({.read = concat("GPU ", event->value("bus"), ": fabric state ", state),
                    .wanted = "3 (completed)",
                    .where = event->where},
                   {});
  }
  report.word(
      {.title = "the NVSwitch fabric is not ready, and CUDA fails with error 802",
       .fix = "systemctl start nvidia-fabricmanager (of exactly the driver's version), then nvidia-smi -r",
       .needs_root = true});
}

void check_fabric_clique_differs(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  std::map<std::string, std::pair<Where, std::vector<DeviceRef>>> cliques;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const std::string& cluster = machine.gpus[i].state.fabric_cluster;
    if (!cluster.empty()) {
      auto& [where, devices] = cliques[cluster];
      where = machine.gpus[i].where;
      devices.push_back(gpu_ref(i));
    }
  }
  for (const LogEvent* event : events_of(input, LogEventKind::fabric)) {
    if (event->value("uuid").empty() || event->value("uuid") == "0.0") continue;
    cliques[concat(event->value("uuid"), " clique ", event->value("clique"))].first = event->where;
  }
  if (cliques.empty()) return;
  report.looked();
  if (cliques.size() > 1) {
    for (auto& [name, entry] : cliques) {
      report.problem(
          {.read = concat("fabric ", name), .wanted = "one cluster and clique", .where = entry.first},
          entry.second);
    }
  }
  report.word(
      {.title = concat("the ranks belong to ", counted(report.problems(), "NVLink fabric"),
                       ", so no NVLink between them"),
       .fix =
           "systemctl restart nvidia-imex on every node, and give containers /dev/nvidia-caps-imex-channels",
       .needs_root = true});
}

}  // namespace ringcomm::inline v0::diag
