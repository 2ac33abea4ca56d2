// SPDX-License-Identifier: Apache-2.0
// perf/compare as a user would run it: every row runs and verifies here, whatever it takes. Its arithmetic is
// tested in compare_core_test.py; no figure is judged.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
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

TEST(CompareTest, EveryRowRunsAndVerifies) {
  const test::TempDir directory;
  const std::string file = directory.path() / "compare.json";
  const auto run = test::run_program(kCompare + "--quick --json " + file, 220);
  ASSERT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("# Out of bounds values : 0 OK"), std::string::npos) << run.output;
  const auto json = nlohmann::json::parse(std::ifstream(file));
  EXPECT_EQ(json["wrong"], 0);
  std::map<std::string, nlohmann::json> goals;
  for (const auto& goal : json["goals"]) {
    for (const char* key : {"ratio", "spread", "least", "aim", "met", "placement", "memory"})
      EXPECT_TRUE(goal.contains(key)) << key << " of " << goal;
    EXPECT_TRUE(goal["ratio"].is_number() || !goal["reason"].get<std::string>().empty()) << goal;
    EXPECT_TRUE(goal["ratio"].is_number() || goal["met"].is_null()) << goal;
    goals[goal["name"].get<std::string>()] = goal;
  }
  for (const char* own :
       {"rotation_to_own_read", "hand_off", "hand_off_to_probe", "hand_off_4", "merge_bandwidth"})
    EXPECT_TRUE(goals.at(own)["ratio"].is_number()) << goals.at(own);
  const bool has_peers = has_mpi();
  for (const char* peer : {"rotation_to_mpi", "hand_off_to_mpi", "softmax_2_to_three_allreduce",
                           "softmax_4_to_best_mpi", "softmax_2_private"})
    EXPECT_EQ(goals.at(peer)["ratio"].is_number(), has_peers) << goals.at(peer);
}

TEST(CompareTest, EarlierResultsAreShownAndDrawnAgain) {
  const test::TempDir directory;
  const std::string file = directory.path() / "limits.json";
  const auto measured =
      test::run_program(kCompare + "--quick --only limits --sizes 4K,8K --json " + file, 60);
  ASSERT_EQ(measured.exit_code, 0) << measured.output;
  const std::string figures = directory.path() / "figures";
  const auto shown = test::run_program(kCompare + "--from " + file + "," + file + " --plot " + figures);
  ASSERT_EQ(shown.exit_code, 0) << shown.output;
  EXPECT_NE(shown.output.find("memcpy x 2"), std::string::npos) << shown.output;
  std::ifstream drawn(figures + "/limits.svg");
  std::string first;
  std::getline(drawn, first);
  EXPECT_EQ(first.find("<svg "), 0U) << first;
}

TEST(CompareTest, AttentionPeersVerify) {
  if (!has_mpi()) GTEST_SKIP() << "needs mpirun, and the peers built against MPI";
  const std::string root = test::run_program("id -u").output == "0\n" ? "--allow-run-as-root " : "";
  for (const std::string peer :
       {"mpi-ring_attention sendrecv --mask full", "mpi-ring_attention isend", "mpi-attention_step sendrecv",
        "mpi-attention_step isend", "mpi-decode_step three --seq 50", "mpi-decode_step gather --seq 50"}) {
    const auto run = test::run_program("sh -c \"printf 'go 16384 2\\nquit\\n' | mpirun " + root +
                                           "--oversubscribe -n 3 " RINGCOMM_BIN_DIR "/" + peer +
                                           " --q-heads 2 --kv-heads 1\"",
                                       60);
    EXPECT_EQ(run.exit_code, 0) << peer << "\n" << run.output;
    EXPECT_NE(run.output.find("\"wrong\": 0"), std::string::npos) << peer << "\n" << run.output;
  }
}

TEST(CompareTest, WrongUseHasItsOwnExitCode) {
  EXPECT_EQ(test::run_program(kCompare + "--sizes 64Q").exit_code, 6);
  EXPECT_EQ(test::run_program(kCompare + "--only no_such_goal").exit_code, 6);
  EXPECT_EQ(test::run_program(kCompare + "--rounds 0").exit_code, 6);
  EXPECT_EQ(test::run_program(kCompare + "--from /nonexistent.json").exit_code, 6);
  const auto run = test::run_program(kCompare + "--bin /nonexistent");
  EXPECT_EQ(run.exit_code, 5) << run.output;
}

}  // namespace
}  // namespace ringcomm
