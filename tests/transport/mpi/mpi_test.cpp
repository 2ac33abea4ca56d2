// SPDX-License-Identifier: Apache-2.0
// Starts tests/transport/mpi/mpi_program.cpp under mpirun, as a site would; the oracle is its exit code.
#include <gtest/gtest.h>

#include <string>

#include "support/program.hpp"
#include "test_paths.hpp"

namespace ringcomm::test {
namespace {

constexpr int kRanks = 8;
// Open MPI unloads its components before the leak check, so that what they leave cannot be told from ours.
const std::string kNoLeakCheck = "ASAN_OPTIONS=detect_leaks=0";

class MpiTest : public testing::Test {
 protected:
  void SetUp() override {
    if (run_program("mpirun --version").exit_code != 0)
      GTEST_SKIP() << "mpirun is not installed (openmpi-bin)";
  }

  /// `more` are options of mpirun, `filter` picks cases of the program.
  static void run(const std::string& more, const std::string& filter, int ranks = kRanks) {
    const std::string root = "--allow-run-as-root --oversubscribe ";
    const std::string leaks = "-x " + kNoLeakCheck + " ";
    const ProgramResult result =
        run_program("mpirun " + root + leaks + more + " -n " + std::to_string(ranks) + " " +
                        RINGCOMM_BIN_DIR + "/mpi_program --gtest_color=no --gtest_filter=" + filter,
                    240);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_NE(result.output.find("[  PASSED  ]"), std::string::npos) << result.output;
  }
};

TEST_F(MpiTest, SharedClaimsHold) { run("", "Mpi/*"); }
TEST_F(MpiTest, SharedClaimsHoldOverTcp) { run("--mca btl tcp,self", "Mpi/*"); }
TEST_F(MpiTest, CommunicatorsWork) { run("", "-Mpi/*"); }
TEST_F(MpiTest, OneProcessNeedsNoLauncher) {
  const ProgramResult result =
      run_program("env " + kNoLeakCheck + " " RINGCOMM_BIN_DIR "/mpi_program --gtest_filter=Mpi*Test.*", 60);
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

}  // namespace
}  // namespace ringcomm::test
