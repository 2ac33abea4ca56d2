// SPDX-License-Identifier: Apache-2.0
#include "topo_json.hpp"

#include "json_value.hpp"
#include "labels.hpp"
#include "ringcomm/version.hpp"

namespace ringcomm::doctor {
namespace {

Json bandwidth_json(const Bandwidth& bandwidth) {
  return {{"gb_per_s", json_of(bandwidth.gb_per_s)},
          {"source", bandwidth.gb_per_s ? Json(name_of(bandwidth.source)) : Json(nullptr)}};
}

/// GPU with every other GPU and NIC, and NUMA nodes with each other: what rings are made of.
Json pairs_json(const Machine& machine, const PathMatrix& paths) {
  Json out = Json::array();
  for (std::size_t from = 0; from < paths.devices.size(); ++from) {
    if (paths.devices[from].kind == PartKind::nic) continue;
    for (std::size_t to = 0; to < paths.devices.size(); ++to) {
      const bool has_numa =
          paths.devices[from].kind == PartKind::numa_node || paths.devices[to].kind == PartKind::numa_node;
      if (from == to || (has_numa && paths.devices[from].kind != paths.devices[to].kind)) continue;
      const Path& path = paths.at(from, to);
      const bool is_known = path.path_class != PathClass::unknown;
      out.push_back(
          {{"from", name_of(machine, paths.devices[from])},
           {"to", name_of(machine, paths.devices[to])},
           {"class", is_known ? Json(name_of(path.path_class)) : Json(nullptr)},
           {"links", json_of(path.nvlinks)},
           {"gb_per_s", json_of(path.bandwidth.gb_per_s)},
           {"source", path.bandwidth.gb_per_s ? Json(name_of(path.bandwidth.source)) : Json(nullptr)},
           {"alpha_us", json_of(path.alpha_us)},
           {"reason", json_of(path.reason)}});
    }
  }
  return out;
}

Json names_json(const Machine& machine, const MachineGraph& graph, const std::vector<int>& order) {
  Json out = Json::array();
  for (const int vertex : order)
    out.push_back(name_of(machine, graph.devices[static_cast<std::size_t>(vertex)]));
  return out;
}

Json order_json(const Machine& machine, const MachineGraph& graph, const std::vector<int>& order) {
  Json out = Json::array();
  for (const int vertex : order) out.push_back(vertex_number(machine, graph, vertex));
  return out;
}

Json steps_json(const Machine& machine, const std::vector<RingStep>& steps) {
  Json out = Json::array();
  for (const RingStep& step : steps) {
    Json row{{"from", name_of(machine, step.from)},
             {"to", name_of(machine, step.to)},
             {"level", json_of(step.level)}};
    row.update(bandwidth_json(step.bandwidth));
    row["reason"] = json_of(step.reason);
    out.push_back(std::move(row));
  }
  return out;
}

Json ring_json(const TopologyCase& input, const RingOrder& ring, std::size_t position, bool is_disjoint) {
  const Machine& machine = input.evidence.machine;
  const MachineGraph& graph = input.rings.graph;
  static const std::vector<RingStep> kNone;
  const bool has_steps = position < input.rings.steps.size();
  return {{"order", order_json(machine, graph, ring.order)},
          {"devices", names_json(machine, graph, ring.order)},
          {"bottleneck",
           {{"level", json_of(slowest_level(graph, ring.order))},
            {"gb_per_s", json_of(ring.bottleneck_gb_per_s)}}},
          {"disjoint", is_disjoint},
          {"best", ring.order == input.rings.best.order},
          {"both_directions", ring.both_directions},
          {"exact", ring.is_exact},
          {"share", is_disjoint ? Json(ring.share) : Json(nullptr)},
          {"edges", steps_json(machine, has_steps ? input.rings.steps[position] : kNone)}};
}

/// The set of rings that run at once (`disjoint` where it holds more than one), then the best single ring if
/// it is not among them.
Json rings_json(const TopologyCase& input) {
  Json out = Json::array();
  const MachineRings& rings = input.rings;
  const bool is_set = rings.rings.rings.size() > 1;
  for (std::size_t i = 0; i < rings.rings.rings.size(); ++i)
    out.push_back(ring_json(input, rings.rings.rings[i], i, is_set));
  if (best_position(rings) == rings.rings.rings.size() && !rings.best.order.empty())
    out.push_back(ring_json(input, rings.best, rings.rings.rings.size(), false));
  return out;
}

Json ranks_json(const TopologyCase& input) {
  const Machine& machine = input.evidence.machine;
  const MachineRings& rings = input.rings;
  Json out = Json::array();
  for (std::size_t i = 0; i < rings.graph.devices.size(); ++i) {
    const DeviceRef device = rings.graph.devices[i];
    Json row{{"device", name_of(machine, device)},
             {"nic", nullptr},
             {"port", nullptr},
             {"nic_class", nullptr},
             {"nic_reason", nullptr}};
    for (const NicChoice& choice : rings.nics) {
      if (device.kind != PartKind::gpu || choice.gpu != device.position) continue;
      if (choice.nic) {
        row["nic"] = name_of(machine, {PartKind::nic, *choice.nic});
        row["port"] = json_of(choice.port);
        if (choice.path_class != PathClass::unknown) row["nic_class"] = name_of(choice.path_class);
      }
      row["nic_reason"] = json_of(choice.reason);
    }
    const Placement placement = i < rings.placements.size() ? rings.placements[i] : Placement{};
    row["cpus"] = placement.cpus.empty() ? Json(nullptr) : Json(cpu_list(placement.cpus));
    row["numa_node"] = placement.memory_node < 0 ? Json(nullptr) : Json(placement.memory_node);
    out.push_back(std::move(row));
  }
  return out;
}

Json findings_json(const Machine& machine, const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const Finding& finding : findings) {
    Json evidence = Json::array(), devices = Json::array();
    for (const FindingEvidence& item : finding.evidence) {
      Json row{{"read", item.read}, {"wanted", json_of(item.wanted)}};
      row.update(json_of(item.where));
      evidence.push_back(std::move(row));
    }
    for (const DeviceRef& device : finding.devices) devices.push_back(name_of(machine, device));
    out.push_back({{"id", finding.id},
                   {"severity", name_of(finding.severity)},
                   {"state", name_of(finding.state)},
                   {"title", finding.title},
                   {"evidence", std::move(evidence)},
                   {"fix", json_of(finding.fix)},
                   {"needs_root", finding.needs_root},
                   {"needs_reboot", finding.needs_reboot},
                   {"cause", json_of(finding.cause)},
                   {"devices", std::move(devices)}});
  }
  return out;
}

Json comparison_json(const TopologyCase& input, const PlanComparison& comparison) {
  const Machine& machine = input.evidence.machine;
  Json edges = Json::array();
  for (const EdgeComparison& edge : comparison.edges) {
    edges.push_back({{"from", name_of(machine, edge.from)},
                     {"to_now", name_of(machine, edge.to_now)},
                     {"to_best", name_of(machine, edge.to_best)},
                     {"level_now", json_of(edge.level_now)},
                     {"level_best", json_of(edge.level_best)},
                     {"gb_per_s_now", json_of(edge.now.gb_per_s)},
                     {"gb_per_s_best", json_of(edge.best.gb_per_s)},
                     {"cause", json_of(edge.cause)}});
  }
  return {{"known", comparison.is_known},
          {"source", json_of(comparison.source)},
          {"order", order_json(machine, input.rings.graph, comparison.order)},
          {"ok", comparison.order.empty() || !is_any_edge_known(input.rings) ? Json(nullptr)
                                                                             : Json(comparison.is_ok)},
          {"slowest_now", json_of(comparison.slowest_now)},
          {"slowest_best", json_of(comparison.slowest_best)},
          {"links_used_now", comparison.links_total > 0 ? Json(comparison.links_used_now) : Json(nullptr)},
          {"links_used_best", comparison.links_total > 0 ? Json(comparison.links_used_best) : Json(nullptr)},
          {"links_total", comparison.links_total > 0 ? Json(comparison.links_total) : Json(nullptr)},
          {"set", json_of(comparison.variable)},
          {"edges", std::move(edges)}};
}

Json unread_json(const std::vector<UnreadFile>& unread) {
  Json out = Json::array();
  for (const UnreadFile& file : unread)
    out.push_back(
        {{"file", file.file}, {"code", name_of(file.status.code())}, {"reason", file.status.message()}});
  return out;
}

Json skipped_json(const std::vector<Skipped>& skipped) {
  Json out = Json::array();
  for (const Skipped& item : skipped) {
    Json row = json_of(item.where);
    row["text"] = item.text;
    row["reason"] = item.reason;
    out.push_back(std::move(row));
  }
  return out;
}

Json contradictions_json(const std::vector<Contradiction>& contradictions) {
  Json out = Json::array();
  for (const Contradiction& item : contradictions) {
    out.push_back({{"subject", item.subject},
                   {"first", item.first},
                   {"first_where", json_of(item.first_where)},
                   {"second", item.second},
                   {"second_where", json_of(item.second_where)}});
  }
  return out;
}

}  // namespace

std::string topo_json(const TopoReport& report) {
  const TopologyCase& input = report.input;
  Json sources = Json::array();
  for (const SourceFile& source : report.sources)
    sources.push_back({{"file", source.file}, {"format", source.format}});
  Json machine = machine_json(input.evidence.machine);
  machine["pairs"] = pairs_json(input.evidence.machine, input.paths);
  const Json json{{"schema", kJsonSchema},
                  {"tool", "ringcomm-doctor topo"},
                  {"version", RINGCOMM_VERSION},
                  {"sources", std::move(sources)},
                  {"machine", std::move(machine)},
                  {"rings", rings_json(input)},
                  {"ranks", ranks_json(input)},
                  {"comparison", comparison_json(input, report.comparison)},
                  {"findings", findings_json(input.evidence.machine, report.findings)},
                  {"contradictions", contradictions_json(input.evidence.contradictions)},
                  {"unread", unread_json(input.unread)},
                  {"skipped", skipped_json(input.evidence.skipped)},
                  {"exit_code", report.exit_code}};
  // Evidence is foreign text: what is not UTF-8 becomes U+FFFD instead of an exception.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ringcomm::doctor
