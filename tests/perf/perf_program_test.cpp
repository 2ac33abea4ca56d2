// SPDX-License-Identifier: Apache-2.0
// Runs ringcomm-perf as a user would: the examples of its --help, its exit codes, its JSON.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/program.hpp"

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
  EXPECT_EQ(examples, 4);
}

TEST(PerfProgramTest, ProcessesUseSharedMemoryAndThreadsDoNot) {
  EXPECT_NE(
      test::run_program(kPerf + " all_gather --procs 2 -b 4K -e 4K -n 2").output.find("every pair: shm"),
      std::string::npos);
  EXPECT_NE(test::run_program(kPerf + " all_gather -t 2 -b 4K -e 4K -n 2").output.find("every pair: inproc"),
            std::string::npos);
}

TEST(PerfProgramTest, RotationVariantsVerify) {
  for (const std::string flags : {"--full", "--full --mode relay", "--mode relay --overlap off",
                                  "--compute 50 --full", "--mode relay --chunk 4K --full", "--no-read"}) {
    const auto run = test::run_program(kPerf + " ring_rotate -t 3 -b 16K -e 16K -n 3 " + flags);
    EXPECT_EQ(run.exit_code, 0) << flags << "\n" << run.output;
  }
}

TEST(PerfProgramTest, SoftmaxVariantsVerify) {
  for (const std::string flags :
       {"--algorithm one_shot", "--algorithm two_shot", "--form unnormalised", "-d bf16", "-d half"}) {
    const auto run = test::run_program(kPerf + " softmax_all_reduce --procs 3 -b 64K -e 64K -n 2 " + flags);
    EXPECT_EQ(run.exit_code, 0) << flags << "\n" << run.output;
  }
}

TEST(PerfProgramTest, JsonIsWhatTheTextSays) {
  const std::string file = testing::TempDir() + "/perf.json";
  const auto run = test::run_program(kPerf + " all_gather -t 2 -b 1K -e 2K -f 2 -n 3 -J " + file);
  ASSERT_EQ(run.exit_code, 0) << run.output;
  const auto json = nlohmann::json::parse(std::ifstream(file));
  ASSERT_EQ(json["results"].size(), 2U);
  EXPECT_EQ(json["results"][1]["size"], 2048);
  EXPECT_GT(json["results"][1]["in_place"]["time"].get<double>(), 0);
  std::remove(file.c_str());
}

TEST(PerfProgramTest, ExitCodesAreTheDocumentedOnes) {
  EXPECT_EQ(test::run_program(kPerf + " --help").exit_code, 0);
  EXPECT_EQ(test::run_program(kPerf + " all_gather --nonsense").exit_code, 6);
  EXPECT_EQ(test::run_program(kPerf + " ring_attention -t 2 --seq 64 --head-dim 7").exit_code, 5);
  EXPECT_EQ(test::run_program(kPerf + " all_gather -t 2 -b 1K -e 1K -n 1 -J /nonexistent/file").exit_code, 5);
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
