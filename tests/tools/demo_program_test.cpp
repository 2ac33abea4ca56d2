// SPDX-License-Identifier: Apache-2.0
// Runs ringcomm-demo as a user would, small, and looks at its screen, JSON and exit codes.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/program.hpp"
#include "test_paths.hpp"

namespace ringcomm {
namespace {

const std::string kDemo = RINGCOMM_BIN_DIR "/ringcomm-demo";

TEST(DemoProgramTest, ThreadsAndProcessesPassTheirCheck) {
  for (const std::string& kind : {std::string("--threads"), std::string()}) {
    const std::string json = testing::TempDir() + "/demo.json";
    const auto run =
        test::run_program(kDemo + " --ranks 3 --tokens 1001 --check-rows 8 -J " + json + " " + kind);
    EXPECT_EQ(run.exit_code, 0) << run.output;
    for (const char* word : {"TFLOP/s", "exposed communication", "memory per rank", "error against float64",
                             "effective keys", "per pair", "check                 passed"}) {
      EXPECT_NE(run.output.find(word), std::string::npos) << word << " is missing in:\n" << run.output;
    }
    const auto figures = nlohmann::json::parse(std::ifstream(json));
    EXPECT_TRUE(figures["passed"].get<bool>());
    EXPECT_EQ(figures["paths"][0][1], kind.empty() ? "shm" : "inproc");
    EXPECT_EQ(figures["kv_bytes_copied"].get<double>(), 0.0);
    std::remove(json.c_str());
  }
}

TEST(DemoProgramTest, WrongUseHasItsExitCodeAndSentence) {
  EXPECT_EQ(test::run_program(kDemo + " --help").exit_code, 0);
  EXPECT_EQ(test::run_program(kDemo + " --no-such-flag").exit_code, 6);
  EXPECT_EQ(test::run_program(kDemo + " --ranks 0").exit_code, 6);
  const auto missing = test::run_program(kDemo + " --text /nonexistent");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_NE(missing.output.find("cannot read /nonexistent"), std::string::npos) << missing.output;
}

}  // namespace
}  // namespace ringcomm
