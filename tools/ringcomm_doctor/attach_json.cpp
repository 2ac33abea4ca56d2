// SPDX-License-Identifier: Apache-2.0
#include "attach_view.hpp"
#include "json_value.hpp"
#include "ringcomm/version.hpp"

namespace ringcomm::doctor {
namespace {

Json rank_json(int rank) { return rank < 0 ? Json(nullptr) : Json(rank); }

Json group_json(const std::vector<diag::LiveRank>& all, const diag::LiveGroup& group) {
  Json ranks = Json::array();
  for (const int rank : group.ranks) ranks.push_back(rank_json(rank));
  return {{"name", json_of(group.name)},
          {"id", group.unique_id},
          {"ranks", std::move(ranks)},
          {"called", group.posted},
          {"done", group.completed},
          {"behind", behind(all, group)},
          {"op", json_of(group.op)},
          {"dtype", json_of(group.dtype)},
          {"bytes", group.bytes},
          {"call_site", json_of(group.call_site)},
          {"open", group.is_open},
          {"step", group.is_open ? Json(group.step) : Json(nullptr)},
          {"waits_for", rank_json(group.waits_for)},
          {"age_ns", group.age_ns},
          {"waits_ns", group.waits_ns},
          {"left_ns", group.has_deadline ? Json(group.left_ns) : Json(nullptr)},
          {"waiting_share", group.waiting_share},
          {"compute_share", group.compute_share}};
}

}  // namespace

std::string attach_json(const AttachView& view) {
  Json ranks = Json::array(), graph = Json::array();
  for (const diag::LiveRank& rank : view.ranks) {
    Json groups = Json::array();
    for (const diag::LiveGroup& group : rank.groups) groups.push_back(group_json(view.ranks, group));
    ranks.push_back({{"rank", rank.world_rank},
                     {"world_size", rank.world_size},
                     {"pid", rank.pid},
                     {"host", json_of(rank.host)},
                     {"transport", json_of(rank.transport)},
                     {"command", json_of(rank.command)},
                     {"process", name_of(rank.process)},
                     {"cpu_seconds", rank.cpu_seconds},
                     {"resident_high_water_bytes", rank.resident_high_water_bytes},
                     {"arena_high_water_bytes", rank.arena_high_water_bytes},
                     {"window_bytes", rank.window_bytes},
                     {"failure", json_of(rank.failure)},
                     {"record", rank.record.string()},
                     {"note", json_of(rank.note)},
                     {"groups", std::move(groups)}});
  }
  for (const diag::WaitEdge& edge : view.verdict.graph)
    graph.push_back(
        {{"from", edge.from}, {"to", edge.to}, {"group", json_of(edge.group)}, {"op", json_of(edge.op)}});
  const bool is_stuck = view.is_explained();
  const Json json{{"schema", 1},
                  {"tool", "ringcomm-doctor attach"},
                  {"version", RINGCOMM_VERSION},
                  {"moves", view.has_moved},
                  {"standing", view.standing},
                  {"ranks", std::move(ranks)},
                  {"graph", std::move(graph)},
                  {"fault_kind", is_stuck ? Json(name_of(view.verdict.kind)) : Json(nullptr)},
                  {"confidence", is_stuck ? Json(name_of(view.verdict.grade)) : Json(nullptr)},
                  {"title", is_stuck ? json_of(view.verdict.title) : Json(nullptr)},
                  {"fix", is_stuck ? json_of(view.verdict.fix) : Json(nullptr)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ringcomm::doctor
