// SPDX-License-Identifier: Apache-2.0
// The oracle is docs/perf-schema.json, and nccl-tests' rules for files and environment.
#include "../../perf/report_json.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "json_schema.hpp"
#include "support/temp_dir.hpp"
#include "test_paths.hpp"

namespace ringcomm::perf {
namespace {

using nlohmann::json;

Row sample_row() {
  Row row;
  row.head = {.size = 1024, .count = 256, .type = "float", .bus_factor = 0.5, .has_in_place = true};
  for (Side& side : row.sides) {
    side.ran = true;
    side.times_us = {40, 50};
    side.rank_times_us = {{40, 50}, {30, 50}};
    side.us = stats_of(side.times_us);
    side.time_us = 42;
  }
  row.sides[0].wrong = 0;
  row.extras = {{"exposed(us)", 1.5}};
  return row;
}

json formatted(Options options, const std::vector<Row>& rows, const std::string& error = {}) {
  options.op = "all_gather";
  const RunInfo run{.cpu_level = "scalar",
                    .ranks = {{.rank = 0, .pid = 1, .host = "h", .cpus = "0", .paths = {"self"}}}};
  return json::parse(format_json(options, run,
                                 {.arguments = {"ringcomm-perf"}, .start_time = time_now(), .error = error},
                                 judge(0, rows), rows));
}

json schema() { return json::parse(std::ifstream(RINGCOMM_SOURCE_DIR "/docs/perf-schema.json")); }

TEST(PerfJsonTest, KeepsTheSchemaInEveryForm) {
  Row without_in_place = sample_row();
  without_in_place.sides[1] = Side();
  without_in_place.head.has_bandwidth = false;
  Options detailed;
  detailed.per_iteration = true;
  detailed.factor = 2;
  Options cpu;
  cpu.cpu_time = true;
  for (const Options& options : {Options(), detailed, cpu}) {
    const json text = formatted(options, {sample_row(), without_in_place}, "rank 1 is gone");
    for (const std::string& violation : test::violations(schema(), text)) ADD_FAILURE() << violation;
  }
}

TEST(PerfJsonTest, SaysWhatTheTextSays) {
  Options options;
  options.per_iteration = true;
  const json text = formatted(options, {sample_row()});
  EXPECT_EQ(text["results"][0]["out_of_place"]["nwrong"], 0);
  EXPECT_EQ(text["results"][0]["in_place"]["nwrong"], nullptr);
  EXPECT_EQ(text["results"][0]["in_place"]["time"], 42);
  EXPECT_EQ(text["results"][0]["in_place_per_iter"]["p99_us"], 50.0);
  EXPECT_EQ(text["results"][0]["in_place_per_iter"]["per_process_max_times_us"][1][0], 30);
  EXPECT_EQ(text["out_of_bounds"]["okay"], "true");
  EXPECT_EQ(text["average_bus_bandwidth"]["okay"], "unchecked");
  EXPECT_EQ(text["ringcomm"]["paths"][0][0], "self");
}

TEST(PerfJsonTest, OnlyTheAllowedEnvironmentIsWritten) {
  EXPECT_EQ(allowed_environment({"RINGCOMM_DEBUG=warn", "HOME=/root", "AWS_SECRET_ACCESS_KEY=x",
                                 "NCCL_DEBUG=INFO", "UCX_TLS=tcp", "OMPI_MCA_btl=self",
                                 "CUDA_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES_TOKEN=x", "XRINGCOMM_A=1",
                                 "RINGCOMM_ID=00ff", "RINGCOMM_STORE=id:00ff"}),
            (std::vector<std::string>{"RINGCOMM_DEBUG=warn", "NCCL_DEBUG=INFO", "UCX_TLS=tcp",
                                      "OMPI_MCA_btl=self", "CUDA_VISIBLE_DEVICES=0", "RINGCOMM_ID=(hidden)",
                                      "RINGCOMM_STORE=(hidden)"}));
  setenv("PERF_TEST_SECRET_TOKEN", "hunter2", 1);
  EXPECT_EQ(formatted({}, {}).dump().find("hunter2"), std::string::npos);
  unsetenv("PERF_TEST_SECRET_TOKEN");
}

TEST(PerfJsonTest, ExistingFilesAreKept) {
  const test::TempDir directory;
  const std::string path = directory.path() / "out.json";
  EXPECT_EQ(claim_file(path).value(), path);
  EXPECT_EQ(claim_file(path).value(), path + ".0");
  EXPECT_EQ(claim_file(path).value(), path + ".1");
  EXPECT_EQ(claim_file("/nonexistent/out.json").status().code(), StatusCode::not_available);
}

}  // namespace
}  // namespace ringcomm::perf
