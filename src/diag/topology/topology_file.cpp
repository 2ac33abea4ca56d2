// SPDX-License-Identifier: Apache-2.0
// What is wrong with a topology file (spec check 14).
#include <algorithm>
#include <map>
#include <set>

#include "diag/topology/lookup.hpp"
#include "diag/topology/themes.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// The speed strings of NCCL (graph/topo.cc, kvDictPciGen); it takes any other for Gen3.
constexpr std::array<std::string_view, 13> kNcclSpeeds{
    "2.5 GT/s",       "5 GT/s",         "8 GT/s",        "16 GT/s",       "32 GT/s",
    "64 GT/s",        "2.5 GT/s PCIe",  "5.0 GT/s PCIe", "8.0 GT/s PCIe", "16.0 GT/s PCIe",
    "32.0 GT/s PCIe", "64.0 GT/s PCIe", "5.0 GT/s"};

/// lspci writes "32GT/s" and "(downgraded)"; only sysfs and NCCL's files have a blank before the unit.
bool is_unknown_to_nccl(std::string_view text) {
  return text.find(" GT/s") != std::string_view::npos && text.find('(') == std::string_view::npos &&
         std::ranges::find(kNcclSpeeds, text) == kNcclSpeeds.end();
}

std::vector<std::size_t> nodes_of(const Machine& machine, int host) {
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < machine.numa_nodes.size(); ++i) {
    const NumaNode& node = machine.numa_nodes[i];
    if (node.host == host && node.cpus && !node.cpus->empty()) nodes.push_back(i);
  }
  return nodes;
}

bool is_hole(const std::set<int>& all, int cpu) { return !all.contains(cpu); }

/// CPUs of a node that end before its peers' pattern does: the node has fewer than all others, which agree,
/// and the numbers that it lacks belong to nobody.
void judge_masks(const Machine& machine, int host, Report& report) {
  const auto nodes = nodes_of(machine, host);
  if (nodes.size() < 2) return;
  report.looked();
  std::set<int> all;
  std::map<std::size_t, std::size_t> sizes;
  for (const std::size_t i : nodes) {
    all.insert(machine.numa_nodes[i].cpus->begin(), machine.numa_nodes[i].cpus->end());
    ++sizes[machine.numa_nodes[i].cpus->size()];
  }
  const auto common = std::ranges::max_element(sizes, {}, [](const auto& entry) { return entry.second; });
  if (sizes.size() != 2 || common->second + 1 != nodes.size() || nodes.size() < 3) return;
  for (const std::size_t i : nodes) {
    const NumaNode& node = machine.numa_nodes[i];
    const std::size_t size = node.cpus->size();
    if (size >= common->first) continue;
    const int next = node.cpus->back() + 1;
    if (!is_hole(all, next) && !is_hole(all, node.cpus->front() - 1)) continue;
    report.problem({.read = concat(name_of(machine, numa_ref(i)), ": ", counted(size, "CPU")),
                    .wanted = concat(common->first, ", as the other nodes"),
                    .where = node.where},
                   {numa_ref(i)});
  }
}

}  // namespace

void check_topology_file_self_link(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  for (const Link& link : machine.links) {
    if (link.kind == LinkKind::c2c || link.gpu < 0 ||
        static_cast<std::size_t>(link.gpu) >= machine.gpus.size())
      continue;
    const auto gpu = static_cast<std::size_t>(link.gpu);
    const bool is_self = (link.end == LinkEnd::gpu && link.peer == link.gpu) ||
                         (link.target && machine.gpus[gpu].bus && *link.target == *machine.gpus[gpu].bus);
    if (!link.peer && !link.target) {
      report.unknown(
          concat("where an NVLink of ", name_of(machine, gpu_ref(gpu)), " ends is not in the evidence"),
          Ask::topo_matrix, link.where, {gpu_ref(gpu)});
      continue;
    }
    report.looked();
    if (!is_self) continue;
    report.problem({.read = concat("NVLink of ", name_of(machine, gpu_ref(gpu)), " ends in itself"),
                    .wanted = "the bus id of its peer",
                    .where = link.where},
                   {gpu_ref(gpu)});
  }
  report.word({.title = concat("NVLinks of ", report.devices_text(machine),
                               " end in the GPU itself, so that no pair is linked"),
               .fix = "unset NCCL_TOPO_FILE and dump a new file: NCCL_TOPO_DUMP_FILE=topo.xml"});
}

void check_topology_file_affinity_short(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  std::set<int> hosts;
  for (const NumaNode& node : machine.numa_nodes) hosts.insert(node.host);
  for (const int host : hosts) judge_masks(machine, host, report);
  for (std::size_t i = 0; i < machine.numa_nodes.size(); ++i) {
    const NumaNode& node = machine.numa_nodes[i];
    if (!node.cpus) {
      report.unknown(concat("CPUs of ", name_of(machine, numa_ref(i)), " are not in the evidence"),
                     Ask::lstopo, node.where, {numa_ref(i)});
    }
  }
  report.word(
      {.title = concat("affinity mask of ", report.devices_text(machine),
                       " has fewer CPUs than those of the other nodes: a group of less than 8 digits?"),
       .fix = "write every comma group of affinity=\"...\" with 8 digits"});
}

void check_topology_file_unknown_speed(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  for (const PciDevice& device : machine.pci) {
    if (device.link.speed_text.empty()) continue;
    report.looked();
    if (!is_unknown_to_nccl(device.link.speed_text)) continue;
    report.problem({.read = concat(device.id.to_text(), ": link_speed \"", device.link.speed_text, "\""),
                    .wanted = "a speed string of NCCL, for example \"32.0 GT/s PCIe\"",
                    .where = device.where},
                   {});
  }
  report.word(
      {.title = concat("speed string of ", counted(report.problems(), "device"),
                       " is none that NCCL knows: it falls back to Gen3"),
       .fix = "sed -i 's|GT/s PCIe/s|GT/s PCIe|; s|\"32 GT/s PCIe\"|\"32.0 GT/s PCIe\"|' <topology file>"});
}

void check_topology_file_no_gpu(const TopologyCase& input, Report& report) {
  const Machine& machine = input.evidence.machine;
  if (!machine.gpus.empty()) {
    report.looked();
    return;
  }
  std::vector<const PciDevice*> nameless;
  for (const PciDevice& device : machine.pci) {
    if (!device.is_bridge && !device.class_code) nameless.push_back(&device);
  }
  if (nameless.empty()) return;
  report.problem({.read = concat("no GPU, and ", counted(nameless.size(), "device"), " without a class"),
                  .wanted = "GPUs, or a class for every device",
                  .where = nameless.front()->where},
                 {});
  report.word({.title = concat("the file names no GPU; what its ", counted(nameless.size(), "device"),
                               " are is unknown until the machine itself is read"),
               .fix = "NCCL_TOPO_DUMP_FILE=topo.xml all_reduce_perf -g 8 (on the machine)"});
}

}  // namespace ringcomm::inline v0::diag
