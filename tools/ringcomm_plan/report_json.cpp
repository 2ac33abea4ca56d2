// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "report.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::planner {
namespace {

using json = nlohmann::ordered_json;

/// null is "unknown".
template <class T>
json known(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json to_json(const Edge& edge) {
  return {{"name", edge.name},
          {"gb_per_s", known(edge.bandwidth.gb_per_s)},
          {"source", ringcomm::name_of(edge.bandwidth.source)},
          {"alpha_us", known(edge.alpha_us)}};
}
json to_json(const Split& split) {
  return {{"tp", split.tp}, {"cp", split.cp}, {"pp", split.pp}, {"dp", split.dp}};
}

json to_json(const AttentionTime& time) {
  return {{"steps", time.steps},
          {"step_compute_us", time.step_compute_us},
          {"step_transfer_us", time.step_transfer_us},
          {"outer_transfer_us", time.outer_transfer_us},
          {"compute_us", time.compute_us},
          {"transfer_us", time.transfer_us},
          {"exposed_us", time.exposed_us},
          {"total_us", time.total_us},
          {"hidden", time.is_hidden},
          {"limit", time.limit}};
}

json to_json(const Memory& memory) {
  json items = json::array();
  for (const MemoryItem& item : memory.items)
    items.push_back({{"id", item.id}, {"what", item.what}, {"bytes", known(item.bytes)}});
  return {{"items", items}, {"known_bytes", memory.known_bytes}, {"complete", memory.is_complete}};
}

json time_json(const Candidate& candidate) {
  if (!candidate.time) {
    json why = json::array();
    for (const std::string& missing : {candidate.missing.compute, candidate.missing.transfer}) {
      if (!missing.empty()) why.push_back(missing);
    }
    return {{"known", false}, {"unknown", why}};
  }
  const StepTime& time = *candidate.time;
  return {{"known", true},
          {"attention_forward", to_json(time.layer.forward)},
          {"attention_backward", time.layer.backward ? to_json(*time.layer.backward) : json(nullptr)},
          {"dense_us", known(time.layer.dense_us)},
          {"tensor_parallel_us", time.layer.tp_us},
          {"gradients_us", known(time.gradients_us)},
          {"pipeline_bubble", time.bubble},
          {"total_us", known(time.total_us)},
          {"left_out", candidate.missing.latency}};
}

json candidate_json(const Request& request, const Candidate& candidate) {
  json row = {{"split", to_json(candidate.split)}, {"strategy", name_of(candidate.strategy)}};
  row["refused"] = candidate.refused.empty() ? json(nullptr) : json(candidate.refused);
  if (!candidate.refused.empty()) return row;
  row["compared_us"] = known(candidate.compared_us(request));
  row["memory_bytes"] = candidate.memory.known_bytes;
  row["slot_bytes"] =
      slot_bytes(request.shape, request.work, candidate.split, candidate.strategy, candidate.place);
  row["fits"] = candidate.fits;
  return row;
}

json model_json(const Request& request) {
  const ModelShape& shape = request.shape;
  const Work& work = request.work;
  return {{"layers", shape.layers},       {"hidden", known(shape.hidden)},
          {"heads", shape.heads},         {"kv_heads", shape.kv_heads},
          {"head_dim", shape.head_dim},   {"ffn", known(shape.ffn)},
          {"vocab", known(shape.vocab)},  {"dtype", ringcomm::name_of(shape.dtype)},
          {"mask", name_of(shape.mask)},  {"layout", name_of(layout_of(shape, work))},
          {"phase", name_of(work.phase)}, {"tokens", work.tokens},
          {"batch", work.batch},          {"kv_bytes", kv_bytes_of_sequence(shape, work.tokens)}};
}

json machine_json(const Report& report) {
  const Fabric& fabric = report.machine.fabric;
  json rings = json::array();
  for (const ShownRing& ring : report.machine.rings)
    rings.push_back({{"order", ring.names}, {"gb_per_s", known(ring.gb_per_s)}, {"share", ring.share}});
  return {{"ranks", report.options.request.ranks},
          {"hosts", fabric.hosts},
          {"gpus_per_host", fabric.gpus_per_host},
          {"nics_per_host", known(fabric.nics_per_host)},
          {"inside", to_json(fabric.local)},
          {"nic", to_json(fabric.nic)},
          {"tflops", known(fabric.tflops)},
          {"gpu_gb", known(fabric.gpu_gb)},
          {"origin", fabric.origin},
          {"rings", rings},
          {"all_rings_gb_per_s", known(report.machine.all_rings_gb_per_s)},
          {"between_hosts", report.machine.scheme.empty()
                                ? json(nullptr)
                                : json{{"scheme", report.machine.scheme},
                                       {"nics_used", report.machine.nics_used},
                                       {"nics_total", report.machine.nics_total},
                                       {"cross_rail_hops", report.machine.cross_rail_hops},
                                       {"explanation", report.machine.scheme_explained}}},
          {"notes", report.machine.notes},
          {"unread", report.machine.unread}};
}

json crossovers_json(const Crossovers& found) {
  if (!found.is_known) return nullptr;
  json rows = json::array();
  for (const Crossovers::Row& row : found.rows) {
    json times = {{"one-rank", row.one_rank_us}};
    for (std::size_t i = 0; i < kStrategies.size(); ++i)
      times[std::string(name_of(kStrategies[i]))] = known(row.strategy_us[i]);
    rows.push_back({{"tokens", row.tokens}, {"attention_us", times}});
  }
  return {{"parallel_from_tokens", known(found.parallel_from)},
          {"ring_over_all_gather_from_tokens", known(found.ring_over_gather)},
          {"ring_over_all_to_all_from_tokens", known(found.ring_over_exchange)},
          {"hides_from_tokens_per_rank", known(found.hides_from)},
          {"compute_over_transfer", found.compute_over_transfer},
          {"lengths", rows}};
}

json tiles_json(const TileFit& tiles) {
  return {{"tile", tiles.tile},
          {"chunk_tokens_min", tiles.chunk_min},
          {"chunk_tokens_max", tiles.chunk_max},
          {"rank_tokens_min", tiles.rows_min},
          {"rank_tokens_max", tiles.rows_max},
          {"divides", tiles.divides},
          {"empty_share", tiles.empty_share},
          {"even_tokens_below", tiles.even_tokens_below},
          {"even_tokens_above", tiles.even_tokens_above}};
}

}  // namespace

std::string to_json(const Report& report) {
  const Request& request = report.options.request;
  const Choice& choice = report.choice;
  json strategies = json::array();
  json by_cp = json::array();
  for (const Candidate& row : choice.strategies) strategies.push_back(candidate_json(request, row));
  for (const Candidate& row : choice.by_cp) by_cp.push_back(candidate_json(request, row));
  const json all = {{"version", 1},
                    {"model", model_json(request)},
                    {"machine", machine_json(report)},
                    {"assumed", report.options.assumed},
                    {"ignored_keys", report.options.ignored},
                    {"not_modelled", report.options.not_modelled},
                    {"plan",
                     {{"split", to_json(choice.best.split)},
                      {"strategy", name_of(choice.best.strategy)},
                      {"reason", choice.reason},
                      {"fits", choice.best.fits}}},
                    {"time", time_json(choice.best)},
                    {"memory", to_json(choice.best.memory)},
                    {"strategies", strategies},
                    {"by_cp", by_cp},
                    {"least_memory_cp", choice.by_cp[choice.least_memory].split.cp},
                    {"crossovers", crossovers_json(report.crossovers)},
                    {"tiles", tiles_json(report.tiles)}};
  return all.dump(2) + "\n";
}

std::string to_json(const Options& options, const Split& split, Strategy strategy, const CheckReport& check) {
  const json all = {{"version", 1},
                    {"proved", true},
                    {"subject", check.subject},
                    {"model", model_json(options.request)},
                    {"split", to_json(split)},
                    {"strategy", name_of(strategy)},
                    {"steps", check.steps},
                    {"operations", check.facts.operations},
                    {"tiles", check.tiles},
                    {"pairs", check.pairs},
                    {"slot_bytes", check.slot_bytes},
                    {"bytes_moved", check.facts.bytes_moved},
                    {"hash", concat(check.hash)}};
  return all.dump(2) + "\n";
}

}  // namespace ringcomm::planner
