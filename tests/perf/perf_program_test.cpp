// SPDX-License-Identifier: Apache-2.0
// Runs ringcomm-perf as a user would: the examples of its --help, its exit codes, its JSON.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "json_schema.hpp"
#include "support/program.hpp"
#include "support/temp_dir.hpp"
#include "test_paths.hpp"

namespace ringcomm {
namespace {

const std::string kPerf = RINGCOMM_BIN_DIR "/ringcomm-perf";

TEST(PerfProgramTest, EveryExampleOfTheHelpRunsAndVerifies) {
  std::istringstream help(test::run_program(kPerf + " --help").output);
  int examples = 0;
  for (std::string line; std::getline(help, line);) {
    if (line.rfind("  ringcomm-perf ", 0) != 0) continue;
    ++examples;
    const auto run = test::run_program(RINGCOMM_BIN_DIR "/" + line.substr(2));
    EXPECT_EQ(run.exit_code, 0) << line << "\n" << run.output;
    EXPECT_NE(run.output.find("# Out of bounds values : 0 OK"), std::string::npos) << line << "\n"
                                                                                   << run.output;
    EXPECT_NE(run.output.find("# Transport of every pair: "), std::string::npos) << line << "\n"
                                                                                 << run.output;
  }
  EXPECT_GE(examples, 4);
}

TEST(PerfProgramTest, ProcessesUseSharedMemoryAndThreadsDoNot) {
  EXPECT_NE(
      test::run_program(kPerf + " all_gather --procs 2 -b 4K -e 4K -n 2").output.find("every pair: shm"),
      std::string::npos);
  EXPECT_NE(test::run_program(kPerf + " all_gather -t 2 -b 4K -e 4K -n 2").output.find("every pair: inproc"),
            std::string::npos);
}

TEST(PerfProgramTest, LinesComeInNcclTestsOrder) {
  const auto run = test::run_program(kPerf + " all_gather -t 2 -b 1K -e 2K -f 2 -n 2");
  const std::regex shape(
      "# ringcomm-perf version [^\n]*\n# Collective test starting: all_gather_perf\n"
      "# nThread 2 nGpus 1 minBytes 1024 maxBytes 2048 step: 2\\(factor\\)[^\n]*\n#\n# Using devices\n"
      "(#  Rank +[0-9]+ Group +0 Pid +[0-9]+ on +[^ ]+ device +0 \\[host\\] [^\n]*\n){2}"
      "# Transport [^\n]*\n# Ranks: 2 \\(threads\\)[^\n]*\n#\n# [^\n]*out-of-place +in-place *\n"
      "# +size +count +type[^\n]*\n# +\\(B\\)[^\n]*\n( +1024 [^\n]*\n)( +2048 [^\n]*\n)"
      "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : [0-9.e+-]+ \n#\n"
      "# Collective test concluded: all_gather_perf\n#\n");
  EXPECT_TRUE(std::regex_match(run.output, shape)) << run.output;
}

TEST(PerfProgramTest, JsonKeepsTheSchemaAndOldFiles) {
  const test::TempDir directory;
  const std::string file = directory.path() / "perf.json";
  const auto schema = nlohmann::json::parse(std::ifstream(RINGCOMM_SOURCE_DIR "/docs/perf-schema.json"));
  for (const std::string& name : {file, file + ".0"}) {
    const auto run = test::run_program(kPerf + " all_gather -t 2 -b 1K -e 2K -f 2 -n 3 -I 1 -J " + file);
    ASSERT_EQ(run.exit_code, 0) << run.output;
    const auto json = nlohmann::json::parse(std::ifstream(name));
    for (const std::string& violation : test::violations(schema, json)) ADD_FAILURE() << violation;
    ASSERT_EQ(json["results"].size(), 2U);
    EXPECT_EQ(json["results"][1]["size"], 2048);
    EXPECT_GT(json["results"][1]["in_place"]["time"].get<double>(), 0);
    EXPECT_EQ(json["results"][1]["out_of_place_per_iter"]["times_us"].size(), 3U);
  }
}

TEST(PerfProgramTest, ExitCodesAreTheDocumentedOnes) {
  EXPECT_EQ(test::run_program(kPerf + " --help").exit_code, 0);
  EXPECT_EQ(test::run_program(kPerf + " all_gather --nonsense").exit_code, 6);
  EXPECT_EQ(test::run_program(kPerf + " all_gather -t 2 -b 1K -e 1K -r 7").exit_code, 6);
  EXPECT_EQ(test::run_program(kPerf + " ring_attention -t 2 --seq 64 --head-dim 7").exit_code, 5);
  EXPECT_EQ(test::run_program(kPerf + " all_gather -t 2 -b 1K -e 1K -n 1 -J /nonexistent/file").exit_code, 5);
  EXPECT_EQ(
      test::run_program("env NCCL_TESTS_MIN_BW=1e9 " + kPerf + " all_gather -t 2 -b 1K -e 1K").exit_code, 7);
  // Its one peer never starts.
  const test::TempDir store;
  EXPECT_EQ(test::run_program("env RINGCOMM_RANK=0 RINGCOMM_SIZE=2 RINGCOMM_STORE=file://" +
                              store.path().string() + " " + kPerf + " all_gather -b 1K -e 1K -T 0.3")
                .exit_code,
            4);
}

TEST(PerfProgramTest, EnvironmentTableIsPrinted) {
  for (const std::string program : {"/ringcomm-perf", "/ringcomm-demo"}) {
    const auto run = test::run_program(RINGCOMM_BIN_DIR + program + " --env");
    EXPECT_EQ(run.exit_code, 0) << run.output;
    EXPECT_NE(run.output.find("RINGCOMM_TIMEOUT"), std::string::npos) << run.output;
  }
}

TEST(PerfProgramTest, PlanOverheadIsPrinted) {
  const auto run = test::run_program(kPerf + " ring_rotate --plan-overhead -t 4");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("ns per step"), std::string::npos) << run.output;
}

}  // namespace
}  // namespace ringcomm
