// SPDX-License-Identifier: Apache-2.0
#include "launch_lines.hpp"

#include <algorithm>
#include <set>

#include "labels.hpp"
#include "ringcomm/core/text.hpp"
#include "screen.hpp"

namespace ringcomm::doctor {
namespace {

/// What each rank of the first host should have, in rank order.
struct HostPlan {
  std::vector<int> nodes{};         ///< NUMA os ids; -1: unknown
  std::vector<std::string> nics{};  ///< "mlx5_0:1"; empty: none
};

int host_of(const Machine& machine, DeviceRef device) {
  const auto position = static_cast<std::size_t>(device.position);
  return device.kind == PartKind::gpu ? machine.gpus[position].host : machine.numa_nodes[position].host;
}

/// Positions in the graph, in rank order.
std::vector<int> vertices_of(const TopologyCase& input, RankOrder order) {
  return order == RankOrder::best_ring ? input.rings.best.order : vertices_in_rank_order(input);
}

HostPlan first_host(const TopologyCase& input, RankOrder order) {
  const Machine& machine = input.evidence.machine;
  const MachineRings& rings = input.rings;
  HostPlan plan;
  for (const int vertex : vertices_of(input, order)) {
    const auto i = static_cast<std::size_t>(vertex);
    const DeviceRef device = rings.graph.devices[i];
    if (host_of(machine, device) != 0) continue;
    plan.nodes.push_back(i < rings.placements.size() ? rings.placements[i].memory_node : -1);
    std::string nic;
    for (const NicChoice& choice : rings.nics) {
      if (device.kind != PartKind::gpu || choice.gpu != device.position || !choice.nic) continue;
      const Nic& found = machine.nics[static_cast<std::size_t>(*choice.nic)];
      if (const auto name = port_name(found, choice.port); name && found.is_rdma)
        nic = concat(name->device, ":", name->port);
    }
    plan.nics.push_back(nic);
  }
  return plan;
}

std::string joined(const std::vector<int>& numbers, const char* between) {
  std::string out;
  for (const int number : numbers) out += concat(out.empty() ? "" : between, number);
  return out;
}

bool is_known(const std::vector<int>& nodes) {
  return std::none_of(nodes.begin(), nodes.end(), [](int node) { return node < 0; });
}

/// Ranks per node where all nodes have equally many and ranks are contiguous on ascending nodes; else 0.
std::size_t regular_share(const std::vector<int>& nodes) {
  const std::set<int> distinct(nodes.begin(), nodes.end());
  if (distinct.empty() || nodes.size() % distinct.size() != 0 || !std::is_sorted(nodes.begin(), nodes.end()))
    return 0;
  const std::size_t share = nodes.size() / distinct.size();
  for (std::size_t i = 0; i < nodes.size(); i += share) {
    if (nodes[i] != nodes[i + share - 1]) return 0;
  }
  return share;
}

/// Nodes that `mpirun --map-by numa` would also count, but that have no rank.
bool has_idle_nodes(const Machine& machine, const std::vector<int>& nodes) {
  return std::any_of(machine.numa_nodes.begin(), machine.numa_nodes.end(), [&](const NumaNode& node) {
    return node.host == 0 && !node.is_memory_only() && std::count(nodes.begin(), nodes.end(), node.id) == 0;
  });
}

/// Slurm counts locality domains from 0; ids such as 0 and 8 are not these.
bool are_ids_counted(const Machine& machine) {
  std::set<int> ids;
  for (const NumaNode& node : machine.numa_nodes) {
    if (node.host == 0) ids.insert(node.id);
  }
  return !ids.empty() && *ids.begin() == 0 && *ids.rbegin() + 1 == static_cast<int>(ids.size());
}

constexpr std::size_t kMargin = 8;  // of continued lines
constexpr std::size_t kTail = 26;   // room for what ends the command
/// A shell function that gives the word of this rank: `pick 0 0 1 1` is 1 for local rank 2.
constexpr const char* kPick = "pick() { shift $OMPI_COMM_WORLD_LOCAL_RANK; echo $1; }; \\\n        ";

/// Words behind `first`, on as many lines as the screen needs.
std::string word_list(const std::string& first, const std::vector<std::string>& words) {
  std::string out = first;
  std::size_t column = first.size() + kMargin;
  for (const std::string& word : words) {
    if (column + word.size() + kTail > kScreenColumns) {
      out += " \\\n         ";
      column = 9;
    }
    out += concat(" ", word);
    column += word.size() + 1;
  }
  return out;
}

std::string srun(const HostPlan& plan, const Machine& machine) {
  const std::size_t hosts = machine.hosts.size();
  if (hosts < 2) return concat("srun -n ", plan.nodes.size());
  return concat("srun -N ", hosts, " --ntasks-per-node=", plan.nodes.size());
}

std::string mpirun_line(const HostPlan& plan, const Machine& machine, bool needs_binding, bool needs_nics) {
  const std::size_t share = regular_share(plan.nodes);
  const bool is_regular = needs_binding && share > 0 && !has_idle_nodes(machine, plan.nodes);
  const std::size_t hosts = std::max<std::size_t>(machine.hosts.size(), 1);
  std::string line = concat("mpirun -n ", plan.nodes.size() * hosts);
  if (is_regular) line += concat(" --map-by ppr:", share, ":numa --bind-to numa");
  if (needs_binding && !is_regular)
    line += concat(hosts > 1 ? concat(" --map-by ppr:", plan.nodes.size(), ":node") : std::string(),
                   " --bind-to none");
  if (!needs_nics && (is_regular || !needs_binding)) return concat(line, " ./app");
  line += concat(" \\\n      sh -c '", kPick);
  if (needs_nics) line += concat(word_list("export UCX_NET_DEVICES=$(pick", plan.nics), "); ");
  if (needs_binding && !is_regular) {
    const std::string nodes = joined(plan.nodes, " ");
    line += concat(needs_nics ? "\\\n        " : "", "n=$(pick ", nodes,
                   "); exec numactl -N $n -m $n \"$@\"' sh ./app");
  } else {
    line += "exec \"$@\"' sh ./app";
  }
  return line;
}

/// NICs that NCCL should use, where others are in the machine; exact names ("="). Empty: one is not known.
std::string nccl_hcas(const TopologyCase& input) {
  const Machine& machine = input.evidence.machine;
  if (input.rings.excluded.empty()) return {};
  std::string out;
  std::set<std::string> names;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const Nic& nic = machine.nics[i];
    const bool is_excluded =
        std::any_of(input.rings.excluded.begin(), input.rings.excluded.end(),
                    [&](const ExcludedNic& entry) { return entry.nic == static_cast<int>(i); });
    if (is_excluded || !nic.is_rdma) continue;
    const auto devices = device_names(nic);
    if (devices.empty()) return {};
    for (const std::string& device : devices) {
      if (names.insert(device).second) out += concat(out.empty() ? "=" : ",", device);
    }
  }
  return out;
}

/// NUMA nodes of a machine whose GPUs the evidence leaves out (a cloud's topology file) are no ranks.
bool are_gpus_hidden(const Machine& machine) {
  if (!machine.gpus.empty()) return false;
  return !machine.has_gpu_evidence ||
         std::any_of(machine.pci.begin(), machine.pci.end(),
                     [](const PciDevice& device) { return !device.is_bridge && !device.class_code; });
}

}  // namespace

std::vector<Advice> launch_advice(const TopologyCase& input, RankOrder order) {
  const Machine& machine = input.evidence.machine;
  const HostPlan plan = first_host(input, order);
  std::vector<Advice> out;
  if (plan.nodes.size() < 2 || !is_any_edge_known(input.rings) || are_gpus_hidden(machine)) return out;
  const std::set<int> nodes(plan.nodes.begin(), plan.nodes.end());
  const std::set<std::string> nics(plan.nics.begin(), plan.nics.end());
  const bool needs_binding = nodes.size() > 1 && is_known(plan.nodes);
  const bool needs_nics = nics.size() > 1 && !nics.contains("");
  if (needs_binding || needs_nics)
    out.push_back({"Open MPI", mpirun_line(plan, machine, needs_binding, needs_nics)});
  if (needs_binding && are_ids_counted(machine))
    out.push_back({"Slurm", concat(srun(plan, machine), " --cpu-bind=map_ldom:", joined(plan.nodes, ","),
                                   " --mem-bind=local ./app")});
  if (nics.size() == 1 && !nics.contains("") && machine.nics.size() > 1)
    out.push_back({"UCX", concat("UCX_NET_DEVICES=", *nics.begin())});
  if (const std::string hcas = nccl_hcas(input); !hcas.empty())
    out.push_back({"NCCL", concat("NCCL_IB_HCA=\"", hcas, "\"")});
  return out;
}

}  // namespace ringcomm::doctor
