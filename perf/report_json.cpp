// SPDX-License-Identifier: Apache-2.0
#include "report_json.hpp"

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ringcomm/core/env.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/version.hpp"

namespace ringcomm::perf {
namespace {

nlohmann::json side_json(const RowHead& head, const Side& side) {
  if (!side.ran) return nullptr;
  nlohmann::json json{{"time", side.us.mean}};
  const double bandwidth = algorithm_bandwidth(head, side);
  json["alg_bw"] = head.has_bandwidth ? nlohmann::json(bandwidth) : nlohmann::json(nullptr);
  json["bus_bw"] = head.has_bandwidth ? nlohmann::json(bandwidth * head.bus_factor) : nlohmann::json(nullptr);
  json["nwrong"] = side.wrong < 0 ? nlohmann::json("N/A") : nlohmann::json(side.wrong);
  json["per_iter"] = {{"min_us", side.us.min},     {"max_us", side.us.max},         {"avg_us", side.us.mean},
                      {"p50_us", side.us.p50},     {"p95_us", side.us.p95},         {"p99_us", side.us.p99},
                      {"stdev_us", side.us.stdev}, {"cv_pct", side.us.cv_percent()}};
  return json;
}

nlohmann::json row_json(const Row& row) {
  nlohmann::json json{{"size", row.head.size},
                      {"count", row.head.count},
                      {"type", row.head.type},
                      {"redop", row.head.redop},
                      {"root", row.head.root},
                      {"out_of_place", side_json(row.head, row.sides[0])},
                      {"in_place", side_json(row.head, row.sides[1])}};
  for (const auto& [name, value] : row.extras) json["extras"][name] = value;
  return json;
}

nlohmann::json ringcomm_environment() {
  nlohmann::json json = nlohmann::json::object();
  for (const EnvVariable& variable : env_table()) {
    if (const char* value = std::getenv(std::string(variable.name).c_str()))
      json[std::string(variable.name)] = value;
  }
  return json;
}

}  // namespace

std::string format_json(const Options& options, const std::vector<std::string>& arguments,
                        const std::vector<RankInfo>& ranks, std::int64_t wrong,
                        const std::vector<Row>& rows) {
  nlohmann::json devices = nlohmann::json::array();
  for (const RankInfo& rank : ranks) {
    devices.push_back({{"rank", rank.rank},
                       {"group", 0},
                       {"pid", rank.pid},
                       {"hostname", rank.host},
                       {"device", "host"},
                       {"device_info", concat("cpus ", rank.cpus.empty() ? "any" : rank.cpus)},
                       {"paths", rank.paths}});
  }
  nlohmann::json results = nlohmann::json::array();
  for (const Row& row : rows) results.push_back(row_json(row));
  const nlohmann::json json{
      {"version", 3},
      {"ringcomm_version", RINGCOMM_VERSION},
      {"args", arguments},
      {"env", ringcomm_environment()},
      {"config",
       {{"operation", options.op},
        {"ranks", options.ranks()},
        {"ranks_are", options.processes > 0 ? "processes" : "threads"},
        {"warmup_iters", options.warmup},
        {"iters", options.iterations},
        {"validation", options.checks},
        {"devices", devices}}},
      {"results", results},
      {"out_of_bounds", {{"count", wrong}, {"okay", wrong == 0 ? "true" : "false"}}},
      {"average_bus_bandwidth", {{"bandwidth", average_bus_bandwidth(rows)}, {"okay", "true"}}},
      {"errors", nlohmann::json::array()}};
  return json.dump(2) + "\n";
}

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream stream(path);
  stream << text;
  stream.close();
  return stream.good() ? Status() : Status::not_available(concat("cannot write ", path));
}

}  // namespace ringcomm::perf
