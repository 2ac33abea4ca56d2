// SPDX-License-Identifier: Apache-2.0
#include "launch_lines.hpp"

#include <algorithm>
#include <numeric>
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
std::vector<int> vertices_of(const MachineRings& rings, RankOrder order) {
  if (order == RankOrder::best_ring) return rings.best.order;
  std::vector<int> vertices(rings.graph.devices.size());
  std::iota(vertices.begin(), vertices.end(), 0);
  return vertices;
}

HostPlan first_host(const TopologyCase& input, RankOrder order) {
  const Machine& machine = input.evidence.machine;
  const MachineRings& rings = input.rings;
  HostPlan plan;
  for (const int vertex : vertices_of(rings, order)) {
    const auto i = static_cast<std::size_t>(vertex);
    const DeviceRef device = rings.graph.devices[i];
    if (host_of(machine, device) != 0) continue;
    plan.nodes.push_back(i < rings.placements.size() ? rings.placements[i].memory_node : -1);
    std::string nic;
    for (const NicChoice& choice : rings.nics) {
      if (device.kind != PartKind::gpu || choice.gpu != device.position || !choice.nic) continue;
      const Nic& found = machine.nics[static_cast<std::size_t>(*choice.nic)];
      if (found.is_rdma) nic = concat(found.name, ":", choice.port.value_or(1));
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

/// NICs that NCCL should use, where others are in the machine; exact names ("=").
std::string nccl_hcas(const TopologyCase& input) {
  const Machine& machine = input.evidence.machine;
  if (input.rings.excluded.empty()) return {};
  std::string out;
  std::set<std::string> names;
  for (std::size_t i = 0; i < machine.nics.size(); ++i) {
    const bool is_excluded =
        std::any_of(input.rings.excluded.begin(), input.rings.excluded.end(),
                    [&](const ExcludedNic& nic) { return nic.nic == static_cast<int>(i); });
    if (is_excluded || !machine.nics[i].is_rdma || !names.insert(machine.nics[i].name).second) continue;
    out += concat(out.empty() ? "=" : ",", machine.nics[i].name);
  }
  return out;
}

/// `topo -m` without its NIC legend names NICs NIC0, NIC1, ..., and some files have bus ids only: not what
/// UCX and NCCL call them. Other characters have no place in a line that people copy to a shell.
bool are_names_real(const TopologyCase& input) {
  const Machine& machine = input.evidence.machine;
  return std::all_of(machine.nics.begin(), machine.nics.end(), [](const Nic& nic) {
    constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    return !nic.name.empty() && !nic.name.starts_with("NIC") && nic.name.front() != '-' &&
           nic.name.find_first_not_of(kPlain) == std::string::npos;
  });
}

}  // namespace

std::vector<Advice> launch_advice(const TopologyCase& input, RankOrder order) {
  const Machine& machine = input.evidence.machine;
  const HostPlan plan = first_host(input, order);
  std::vector<Advice> out;
  if (plan.nodes.size() < 2) return out;
  const std::set<int> nodes(plan.nodes.begin(), plan.nodes.end());
  const std::set<std::string> nics(plan.nics.begin(), plan.nics.end());
  const bool needs_binding = nodes.size() > 1 && is_known(plan.nodes);
  const bool needs_nics = nics.size() > 1 && !nics.contains("") && are_names_real(input);
  if (needs_binding || needs_nics)
    out.push_back({"Open MPI", mpirun_line(plan, machine, needs_binding, needs_nics)});
  if (needs_binding && are_ids_counted(machine))
    out.push_back({"Slurm", concat(srun(plan, machine), " --cpu-bind=map_ldom:", joined(plan.nodes, ","),
                                   " --mem-bind=local ./app")});
  if (nics.size() == 1 && !nics.contains("") && are_names_real(input) && machine.nics.size() > 1)
    out.push_back({"UCX", concat("UCX_NET_DEVICES=", *nics.begin())});
  if (const std::string hcas = nccl_hcas(input); !hcas.empty() && are_names_real(input))
    out.push_back({"NCCL", concat("NCCL_IB_HCA=\"", hcas, "\"")});
  return out;
}

}  // namespace ringcomm::doctor
