// SPDX-License-Identifier: Apache-2.0
#include "report_json.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ringcomm/core/text.hpp"
#include "ringcomm/version.hpp"

namespace ringcomm::perf {
namespace {

using Json = nlohmann::ordered_json;

const char* text_of(bool value) { return value ? "true" : "false"; }

Json side_json(const Options& options, const RowHead& head, const Side& side) {
  if (!side.ran) return nullptr;
  const double bandwidth = algorithm_bandwidth(head, side);
  return {{options.cpu_time ? "cpu_time" : "time", side.time_us},
          {"alg_bw", head.has_bandwidth ? Json(bandwidth) : Json(nullptr)},
          {"bus_bw", head.has_bandwidth ? Json(bandwidth * head.bus_factor) : Json(nullptr)},
          {"nwrong", side.wrong < 0 ? Json(nullptr) : Json(side.wrong)}};
}

Json iterations_json(const Options& options, const Side& side) {
  return {{"skipped_iterations", options.per_iteration_skip},
          {"min_us", side.us.min},
          {"max_us", side.us.max},
          {"avg_us", side.us.mean},
          {"p50_us", side.us.p50},
          {"p95_us", side.us.p95},
          {"p99_us", side.us.p99},
          {"stdev_us", side.us.stdev},
          {"cv_pct", side.us.cv_percent()},
          {"times_us", side.times_us},
          {"per_process_max_times_us", side.rank_times_us}};
}

Json row_json(const Options& options, const Row& row) {
  Json json{{"size", row.head.size},
            {"count", row.head.count},
            {"type", row.head.type},
            {"redop", row.head.redop},
            {"root", row.head.root}};
  constexpr std::array kNames{"out_of_place", "in_place"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    json[kNames[i]] = side_json(options, row.head, row.sides[i]);
    if (options.per_iteration && row.sides[i].ran)
      json[concat(kNames[i], "_per_iter")] = iterations_json(options, row.sides[i]);
  }
  json["actual_iterations"] = options.iterations;
  json["experiment_name"] = "";
  Json extras = Json::object();
  for (const auto& [name, value] : row.extras) extras[name] = value;
  json["ringcomm"] = {{"extras", extras}, {"finished", row.timestamp}};
  return json;
}

Json config_json(const Options& options, const RunInfo& run) {
  Json devices = Json::array();
  for (const RankInfo& rank : run.ranks) {
    devices.push_back({{"rank", rank.rank},
                       {"group", 0},
                       {"pid", rank.pid},
                       {"hostname", rank.host},
                       {"device", 0},
                       {"device_hex", "host"},
                       {"device_info", concat(run.device, " cpus ", rank.cpus.empty() ? "any" : rank.cpus)}});
  }
  Json json{{"nthreads", run.launch == "threads" ? run.ranks.size() : 1},
            {"ngpus", 1},
            {"minimum_bytes", options.bytes_min},
            {"maximum_bytes", options.bytes_max}};
  if (options.factor > 1) {
    json["step_factor"] = options.factor;
  } else {
    json["step_bytes"] = options.bytes_step;
  }
  json["warmup_iters"] = options.warmup;
  json["iterations"] = options.iterations;
  json["aggregated_iterations"] = options.aggregated;
  json["validation"] = options.checks;
  json["graph"] = 0;
  json["blocking_collectives"] = text_of(options.blocking != Blocking::none);
  json["per_iter_timing"] = text_of(options.per_iteration);
  json["per_iter_skip"] = options.per_iteration_skip;
  json["parallel_init"] = text_of(false);
  json["devices"] = devices;
  return json;
}

Json ringcomm_json(const Options& options, const RunInfo& run, const std::string& remark) {
  Json paths = Json::array();
  for (const RankInfo& rank : run.ranks) paths.push_back(rank.paths);
  return {{"version", RINGCOMM_VERSION},
          {"operation", options.op},
          {"ranks", run.ranks.size()},
          {"launch", run.launch},
          {"kernels", run.cpu_level},
          {"paths", paths},
          {"memory", options.memory == Memory::window ? "window" : "private"},
          {"cold", text_of(options.is_cold)},
          {"background", options.background},
          {"remark", remark}};
}

/// A group's id carries its secret.
std::string without_secret(const std::string& entry) {
  const std::string name = entry.substr(0, entry.find('='));
  const bool is_secret =
      name.ends_with("_ID") || name.ends_with("_SECRET") || entry.find("=id:") != std::string::npos;
  return is_secret ? name + "=(hidden)" : entry;
}

}  // namespace

std::vector<std::string> allowed_environment(const std::vector<std::string>& environment) {
  constexpr std::array<std::string_view, 5> kPrefixes{"RINGCOMM_", "NCCL_", "UCX_", "OMPI_MCA_",
                                                      "CUDA_VISIBLE_DEVICES="};
  std::vector<std::string> allowed;
  for (const std::string& entry : environment) {
    for (const std::string_view prefix : kPrefixes) {
      if (entry.starts_with(prefix)) allowed.push_back(without_secret(entry));
    }
  }
  return allowed;
}

std::string format_json(const Options& options, const RunInfo& run, const JsonInput& input,
                        const Verdict& verdict, const std::vector<Row>& rows) {
  std::vector<std::string> environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    environment.emplace_back(*entry);
  Json results = Json::array();
  for (const Row& row : rows) results.push_back(row_json(options, row));
  Json errors = Json::array();
  if (!input.error.empty()) errors.push_back(input.error);
  const Json json{{"version", 3},
                  {"start_time", input.start_time},
                  {"args", input.arguments},
                  {"env", allowed_environment(environment)},
                  {"nccl_version", 0},
                  {"config", config_json(options, run)},
                  {"results", results},
                  {"out_of_bounds", {{"count", verdict.wrong}, {"okay", text_of(verdict.wrong == 0)}}},
                  {"average_bus_bandwidth",
                   {{"bandwidth", verdict.average_bus},
                    {"okay", verdict.least_bus ? text_of(verdict.bandwidth_is_ok()) : "unchecked"}}},
                  {"errors", errors},
                  {"end_time", time_now()},
                  {"ringcomm", ringcomm_json(options, run, input.remark)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::string> claim_file(const std::string& path) {
  std::string name = path;
  for (int suffix = 0;; ++suffix) {
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0) {
      close(file);
      return name;
    }
    if (errno != EEXIST)
      return Status::not_available(concat("cannot write ", name, ": ", std::strerror(errno)));
    name = concat(path, ".", suffix);
  }
}

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream stream(path);
  stream << text;
  stream.close();
  return stream.good() ? Status() : Status::not_available(concat("cannot write ", path));
}

}  // namespace ringcomm::perf
