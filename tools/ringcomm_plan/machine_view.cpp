// SPDX-License-Identifier: Apache-2.0
#include "machine_view.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/topology/cluster_rings.hpp"
#include "ringcomm/topology/discover.hpp"
#include "ringcomm/topology/evidence.hpp"
#include "ringcomm/topology/machine_rings.hpp"

namespace ringcomm::planner {
namespace {

constexpr std::size_t kSkippedShown = 3;

Result<std::string> read_text(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return Status::not_found(concat(file, " cannot be read"));
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

Result<CostModel> cost_model(const MachineOptions& options) {
  if (options.calibration.empty()) return CostModel::table();
  RINGCOMM_TRY_ASSIGN(const std::string text, read_text(options.calibration));
  return CostModel::from_json(text, options.calibration);
}

MergedEvidence gather_evidence(const MachineOptions& options, MachineView& view) {
  if (options.is_live) return discover_machine();
  std::vector<UnreadFile> unread;
  const std::vector<std::filesystem::path> paths(options.evidence.begin(), options.evidence.end());
  MergedEvidence merged = merge_evidence(read_evidence_paths(paths, unread));
  for (const UnreadFile& file : unread) view.unread.push_back(concat(file.file, ": ", file.status.message()));
  return merged;
}

void add_notes(const MergedEvidence& evidence, MachineView& view) {
  std::vector<std::string> skips;
  std::set<std::string> seen;
  for (const Skipped& skipped : evidence.skipped) {
    std::string note = concat("skipped ", skipped.where.to_text(), ": ", skipped.reason);
    if (seen.insert(note).second) skips.push_back(std::move(note));
  }
  for (const Contradiction& difference : evidence.contradictions) {
    view.notes.push_back(concat(difference.subject, ": ", difference.first, " (",
                                difference.first_where.to_text(), ") or ", difference.second, " (",
                                difference.second_where.to_text(), ")"));
  }
  view.notes.insert(view.notes.end(), skips.begin(),
                    skips.begin() + static_cast<std::ptrdiff_t>(std::min(skips.size(), kSkippedShown)));
  if (skips.size() > kSkippedShown)
    view.notes.push_back(concat(skips.size() - kSkippedShown, " more skipped"));
}

int host_of(const Machine& machine, DeviceRef device) {
  const auto position = static_cast<std::size_t>(device.position);
  return device.kind == PartKind::gpu ? machine.gpus[position].host : machine.numa_nodes[position].host;
}

/// The edges of the best single ring that stay inside a host.
std::vector<RingStep> inside_steps(const MachineRings& rings, const Machine& machine) {
  std::size_t which = 0;
  while (which < rings.rings.rings.size() && rings.rings.rings[which].order != rings.best.order) ++which;
  std::vector<RingStep> inside;
  if (which >= rings.steps.size()) return inside;
  for (const RingStep& step : rings.steps[which]) {
    if (host_of(machine, step.from) == host_of(machine, step.to)) inside.push_back(step);
  }
  return inside;
}

/// The slowest edge of the best ring: its class name, bandwidth after sharing, and latency. An edge of
/// unknown bandwidth decides.
Edge slowest_edge(const MachineRings& rings, const PathMatrix& paths, const Machine& machine) {
  Edge edge;
  const std::vector<RingStep> steps = inside_steps(rings, machine);
  const auto slowest = std::min_element(steps.begin(), steps.end(), [](const RingStep& a, const RingStep& b) {
    return a.bandwidth.gb_per_s.value_or(0) < b.bandwidth.gb_per_s.value_or(0);
  });
  if (slowest == steps.end()) return edge;
  edge.name = slowest->level;
  edge.bandwidth = slowest->bandwidth;
  // The whole ring's figure counts what edges share; with several hosts it is that of the network.
  if (machine.hosts.size() <= 1) edge.bandwidth.gb_per_s = rings.best.bottleneck_gb_per_s;
  const std::size_t from = paths.find(slowest->from);
  const std::size_t to = paths.find(slowest->to);
  if (from < paths.devices.size() && to < paths.devices.size()) edge.alpha_us = paths.at(from, to).alpha_us;
  return edge;
}

/// Link-disjoint rings carry their shares at once, where their bandwidths are known.
std::optional<double> all_rings(const RingSet& set) {
  if (set.rings.size() < 2) return std::nullopt;
  double sum = 0;
  for (const RingOrder& ring : set.rings) {
    if (!ring.bottleneck_gb_per_s) return std::nullopt;
    sum += *ring.bottleneck_gb_per_s * (ring.both_directions ? 2 : 1);
  }
  return sum;
}

/// NICs that the matching uses, and the slowest of them, each no faster than the path to it.
void add_nics(const Machine& machine, const MachineRings& rings, const CostModel& costs, Fabric& fabric) {
  std::vector<std::pair<int, int>> used;
  Bandwidth slowest;
  bool is_known = true;
  for (const NicChoice& choice : rings.nics) {
    if (!choice.nic) continue;
    const auto& rate = choice.bandwidth.gb_per_s;
    is_known = is_known && rate;
    if (rate && (!slowest.gb_per_s || *rate < *slowest.gb_per_s)) slowest = choice.bandwidth;
    const std::pair port{*choice.nic, choice.port.value_or(1)};
    if (std::find(used.begin(), used.end(), port) == used.end()) used.push_back(port);
  }
  if (!machine.has_nic_evidence) return;
  fabric.nics_per_host = static_cast<int>(used.size()) / fabric.hosts;
  fabric.nic = {.name = "NIC", .bandwidth = {}, .alpha_us = costs.of(PathClass::net).alpha_us};
  if (slowest.gb_per_s && is_known) fabric.nic.bandwidth = slowest;
}

Status add_machine(const MachineOptions& options, MachineView& view) {
  RINGCOMM_TRY_ASSIGN(const CostModel costs, cost_model(options));
  const MergedEvidence evidence = gather_evidence(options, view);
  add_notes(evidence, view);
  const Machine& machine = evidence.machine;
  if (machine.gpus.empty() && machine.numa_nodes.empty())
    return Status::not_found(view.unread.empty() ? "the evidence shows no GPU and no NUMA node"
                                                 : view.unread.front());
  const PathMatrix paths = derive_paths(machine, costs);
  RINGCOMM_TRY_ASSIGN(const MachineRings rings, plan_machine_rings(machine, paths));
  Fabric& fabric = view.fabric;
  fabric.hosts = static_cast<int>(std::max<std::size_t>(1, machine.hosts.size()));
  fabric.gpus_per_host = static_cast<int>(rings.graph.devices.size()) / fabric.hosts;
  view.has_gpus = !machine.gpus.empty();
  fabric.origin = options.is_live ? "this machine" : concat("read from ", options.evidence.front());
  fabric.local = slowest_edge(rings, paths, machine);
  add_nics(machine, rings, costs, fabric);
  for (const RingOrder& ring : rings.rings.rings) {
    ShownRing shown{.names = {}, .gb_per_s = ring.bottleneck_gb_per_s, .share = ring.share};
    for (const int vertex : ring.order)
      shown.names.push_back(
          ringcomm::name_of(machine, rings.graph.devices[static_cast<std::size_t>(vertex)]));
    view.rings.push_back(std::move(shown));
  }
  view.rings_explained = rings.rings.explanation;
  view.all_rings_gb_per_s = all_rings(rings.rings);
  if (!machine.has_link_evidence && machine.gpus.size() > 1)
    view.notes.push_back(
        "the evidence cannot show NVLinks: rings are over PCIe (nvidia-smi topo -m shows them)");
  return {};
}

void apply_flags(const MachineOptions& options, Fabric& fabric) {
  const auto given = [](Edge& edge, const char* name, std::optional<double> gb_per_s,
                        std::optional<double> alpha_us) {
    if (gb_per_s) edge.bandwidth = {.gb_per_s = gb_per_s, .source = Source::measured};
    if (alpha_us) edge.alpha_us = alpha_us;
    if (edge.name.empty() && (gb_per_s || alpha_us)) edge.name = name;
  };
  if (options.hosts) fabric.hosts = *options.hosts;
  if (options.gpus) fabric.gpus_per_host = *options.gpus;
  if (options.nics) fabric.nics_per_host = options.nics;
  given(fabric.local, "edge inside a host", options.gb_per_s, options.alpha_us);
  given(fabric.nic, "NIC", options.nic_gb_per_s, options.nic_alpha_us);
  fabric.tflops = options.tflops;
  fabric.gpu_gb = options.gpu_gb;
}

/// Where neither flags nor evidence count GPUs, as many ranks as asked for run on the hosts.
Status assume_ranks(Options& options, int ranks, Fabric& fabric) {
  if (ranks % fabric.hosts != 0) {
    return Status::invalid_argument(
        concat("hosts ", fabric.hosts, " must divide ranks ", ranks, " (or give --gpus)"));
  }
  fabric.gpus_per_host = ranks / fabric.hosts;
  options.assumed.push_back(concat(fabric.hosts, fabric.hosts == 1 ? " host" : " hosts", " with ",
                                   fabric.gpus_per_host, fabric.gpus_per_host == 1 ? " rank" : " ranks",
                                   fabric.hosts == 1 ? "" : " each"));
  return {};
}

}  // namespace

Result<MachineView> view_machine(Options& options) {
  MachineView view;
  const MachineOptions& machine = options.machine;
  Fabric& fabric = view.fabric;
  if (machine.is_live || !machine.evidence.empty()) RINGCOMM_TRY(add_machine(machine, view));
  apply_flags(machine, fabric);
  const Request& request = options.request;
  const bool has_count = view.has_gpus || machine.gpus;
  const int product =
      request.tp.value_or(1) * request.cp.value_or(1) * request.pp.value_or(1) * request.dp.value_or(1);
  const int ranks = options.ranks.value_or(has_count ? fabric.hosts * fabric.gpus_per_host : product);
  if (!has_count) RINGCOMM_TRY(assume_ranks(options, ranks, fabric));
  if (ranks > fabric.hosts * fabric.gpus_per_host) {
    return Status::invalid_argument(concat("ranks ", ranks, " exceed hosts ", fabric.hosts, " x GPUs ",
                                           fabric.gpus_per_host, " = ", fabric.hosts * fabric.gpus_per_host));
  }
  options.request.ranks = ranks;
  options.request.fabric = fabric;
  return view;
}

Status add_cluster_rings(const Options& options, const Split& split, MachineView& view) {
  const CpPlace place = place_cp(view.fabric, split);
  if (place.hosts < 2 || !place.is_even) return {};
  ClusterRequest request;
  request.kv_heads = kv_heads_per_rank(options.request.shape, split.tp);
  request.rails = options.machine.rails == "full"   ? Rails::full
                  : options.machine.rails == "none" ? Rails::none
                                                    : Rails::same_index;
  const int size = place.per_host;
  const int nics = view.fabric.nics_per_host.value_or(0);
  std::vector<std::string> names;
  for (int host = 0; host < place.hosts; ++host) {
    ClusterHost cluster{.name = concat("host", host), .local = {.size = size}, .nic_of_gpu = {}};
    cluster.local.edges.assign(static_cast<std::size_t>(size * size),
                               {.level = 0, .gb_per_s = view.fabric.local.bandwidth.gb_per_s});
    // Rank i of the group is on GPU i * tp; GPUs count along the NICs.
    for (int i = 0; i < size; ++i)
      cluster.nic_of_gpu.push_back(nics == 0 ? -1
                                             : i * split.tp * nics / std::max(1, view.fabric.gpus_per_host));
    cluster.nic_gb_per_s = view.fabric.nic.bandwidth.gb_per_s.value_or(0);
    names.push_back(cluster.name);
    request.hosts.push_back(std::move(cluster));
  }
  if (!options.machine.node_order.empty()) {
    RINGCOMM_TRY_ASSIGN(const std::string text, read_text(options.machine.node_order));
    RINGCOMM_TRY_ASSIGN(request.host_order, parse_host_order(text, names, options.machine.node_order));
  }
  RINGCOMM_TRY_ASSIGN(const ClusterPlan plan, plan_cluster_rings(request));
  view.scheme = name_of(plan.scheme);
  view.scheme_explained = plan.explanation;
  view.nics_used = plan.nics_used;
  view.nics_total = plan.nics_total;
  view.cross_rail_hops = plan.cross_rail_hops;
  return {};
}

}  // namespace ringcomm::planner
