// SPDX-License-Identifier: Apache-2.0
// ringcomm-block-kernel as perf/compare and people drive it; no speed is asserted.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "support/program.hpp"
#include "test_paths.hpp"

namespace ringcomm {
namespace {

const std::string kProgram = std::string(RINGCOMM_BIN_DIR) + "/ringcomm-block-kernel";

/// Each line of the output must be a sample with the keys that perf/compare reads, all values right.
int expect_samples(const std::string& output, const std::string& level) {
  const std::set<std::string> keys = {"gflops", "peak_gflops", "share",    "level", "dtype",
                                      "mask",   "seq",         "head_dim", "wrong"};
  std::istringstream lines(output);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto sample = nlohmann::json::parse(line, nullptr, false);
    EXPECT_TRUE(sample.is_object()) << line;
    if (!sample.is_object()) return -1;
    std::set<std::string> seen;
    for (const auto& item : sample.items()) seen.insert(item.key());
    EXPECT_EQ(seen, keys);
    EXPECT_EQ(sample["wrong"], 0) << line;
    EXPECT_EQ(sample["level"], level);
    EXPECT_GT(sample["gflops"], 0);
  }
  return count;
}

TEST(BlockKernelProgramTest, SweepsTypesMasksAndLengths) {
  const auto run =
      test::run_program(kProgram + " --level scalar --seq 65 --head-dim 32 --iterations 1 --json");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(expect_samples(run.output, "scalar"), 6);  // three dtypes, two masks
}

TEST(BlockKernelProgramTest, ServesOneSampleALine) {
  // A shell of its own: run_program() takes the input of the last program of a pipe away.
  const auto run = test::run_program(R"(sh -c 'printf "go 33 1\ngo 70 2\nquit\n" | )" + kProgram +
                                     " --level scalar --serve --dtype fp32 --mask causal --q-heads 2'");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_EQ(expect_samples(run.output, "scalar"), 2) << run.output;
}

TEST(BlockKernelProgramTest, ExitCodesTellUsageFromWhatIsNotPossible) {
  EXPECT_EQ(test::run_program(kProgram + " --dtype fp8").exit_code, 6);
  EXPECT_EQ(test::run_program(kProgram + " --seq 0").exit_code, 6);
  EXPECT_EQ(test::run_program(kProgram + " --seq 64 --head-dim 80").exit_code, 5);
  EXPECT_EQ(test::run_program(kProgram + " --help").exit_code, 0);
}

}  // namespace
}  // namespace ringcomm
