// SPDX-License-Identifier: Apache-2.0
// perf/compare as a user would run it, with the smallest sizes: both sides verified, table and JSON there.
// Its arithmetic is tested in compare_core_test.py.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/program.hpp"
#include "support/temp_dir.hpp"
#include "test_paths.hpp"

namespace ringcomm {
namespace {

const std::string kCompare = RINGCOMM_SOURCE_DIR "/perf/compare --bin " RINGCOMM_BIN_DIR " ";

bool has_mpi() {
  return std::filesystem::exists(RINGCOMM_BIN_DIR "/mpi-ring_sendrecv") &&
         test::run_program("mpirun --version").exit_code == 0;
}

TEST(CompareTest, RunsBothSidesAgainstMpi) {
  if (!has_mpi()) GTEST_SKIP() << "needs mpirun, and the peers built against MPI";
  const test::TempDir directory;
  const std::string file = directory.path() / "compare.json";
  const auto run = test::run_program(
      kCompare + "--sizes 4K --rounds 2 --iterations 2 --near-below 1e9 --json " + file, 110);
  ASSERT_EQ(run.exit_code, 0) << run.output;
  for (const std::string text : {"# ring_rotate over shm", "# softmax_all_reduce over tcp", "ringcomm shm",
                                 "MPI_Sendrecv", "3 x MPI_Allreduce", "# Out of bounds values : 0 OK"})
    EXPECT_NE(run.output.find(text), std::string::npos) << text << "\n" << run.output;
  const auto json = nlohmann::json::parse(std::ifstream(file));
  EXPECT_EQ(json["wrong"], 0);
  bool has_ratio = false;
  for (const auto& result : json["results"]) has_ratio = has_ratio || result["ratio"].is_number();
  // Every sample may have been dropped on a machine that moves its CPUs all the time.
  EXPECT_TRUE(has_ratio || json["dropped"].get<int>() > 0) << run.output;
}

TEST(CompareTest, WrongUseHasItsOwnExitCode) {
  EXPECT_EQ(test::run_program(kCompare + "--sizes 64Q").exit_code, 6);
  EXPECT_EQ(test::run_program(kCompare + "--op all_gathr").exit_code, 6);
  EXPECT_EQ(test::run_program(kCompare + "--rounds 0").exit_code, 6);
  const auto run = test::run_program(kCompare + "--bin /nonexistent");
  EXPECT_EQ(run.exit_code, 5) << run.output;
}

}  // namespace
}  // namespace ringcomm
