// SPDX-License-Identifier: Apache-2.0
// Runs ringcomm-perf --calibrate as a user would: what it writes is read by the planner, and every mistake
// has its exit code.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ringcomm/topology/cost_model.hpp"
#include "support/program.hpp"
#include "support/temp_dir.hpp"
#include "test_paths.hpp"

namespace ringcomm {
namespace {

const std::string kCalibrate = RINGCOMM_BIN_DIR "/ringcomm-perf --calibrate ";

TEST(CalibrateProgramTest, ProcessesAndThreadsWriteWhatThePlannerReads) {
  const test::TempDir directory;
  const std::string file = directory.path() / "costs.json";
  // The same name twice: the first file stays.
  for (const auto& [ranks, name] : {std::pair("--procs 2", file), std::pair("-t 2", file + ".0")}) {
    const auto run = test::run_program(kCalibrate + file + " -e 256K -n 2 " + ranks);
    ASSERT_EQ(run.exit_code, 0) << run.output;
    EXPECT_NE(run.output.find("# wrote " + name), std::string::npos) << run.output;
    std::ostringstream text;
    text << std::ifstream(name).rdbuf();
    const auto model = CostModel::from_json(text.str(), name);
    ASSERT_TRUE(model.is_ok()) << model.status().to_string() << "\n" << text.str();
    EXPECT_TRUE(model->is_measured_between(PartKind::numa_node));
  }
}

TEST(CalibrateProgramTest, WithoutAWordAboutRanksThereAreEnough) {
  const test::TempDir directory;
  const std::string file = directory.path() / "costs.json";
  const auto run = test::run_program(kCalibrate + file + " -e 256K -n 2");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST(CalibrateProgramTest, MistakesHaveTheirExitCode) {
  const test::TempDir directory;
  const std::string file = directory.path() / "costs.json";
  const auto alone = test::run_program(kCalibrate + file + " -t 1");
  EXPECT_EQ(alone.exit_code, 6);
  EXPECT_NE(alone.output.find("a path has two ends"), std::string::npos) << alone.output;
  EXPECT_EQ(test::run_program(kCalibrate + file + " all_gather").exit_code, 6);
  EXPECT_EQ(test::run_program(kCalibrate + file + " -e 1K -t 2").exit_code, 6);
  EXPECT_EQ(test::run_program(kCalibrate + file + " --sweep -t 2").exit_code, 6);
  EXPECT_FALSE(std::filesystem::exists(file));
  const auto unwritable = test::run_program(kCalibrate + "/nonexistent/costs.json -t 2");
  EXPECT_EQ(unwritable.exit_code, 5);
  EXPECT_NE(unwritable.output.find("cannot write /nonexistent/costs.json"), std::string::npos)
      << unwritable.output;
}

}  // namespace
}  // namespace ringcomm
