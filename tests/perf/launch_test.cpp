// SPDX-License-Identifier: Apache-2.0
// ringcomm-perf under the launchers that a site has: every operation verified, one report, from rank 0.
#include <gtest/gtest.h>

#include "support/program.hpp"
#include "test_paths.hpp"

namespace ringcomm {
namespace {

const std::string kPerf = RINGCOMM_BIN_DIR "/ringcomm-perf ";
const std::string kMpirun =
    "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun --oversubscribe --bind-to none -n ";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

void expect_one_report(const std::string& command, const std::string& header) {
  const auto run = test::run_program(command, 100);
  EXPECT_EQ(run.exit_code, 0) << command << "\n" << run.output;
  EXPECT_EQ(count(run.output, "# Out of bounds values : 0 OK"), 1U) << command << "\n" << run.output;
  EXPECT_NE(run.output.find(header), std::string::npos) << command << "\n" << run.output;
}

TEST(PerfLaunchTest, MpirunsRanksAreUsed) {
  if (test::run_program("mpirun --version").exit_code != 0) GTEST_SKIP() << "needs mpirun";
  for (const std::string ranks : {"2", "3", "5"})
    expect_one_report(kMpirun + ranks + " " + kPerf + "all_gather -b 4K -e 4K -n 2",
                      "# Ranks: " + ranks + " (mpirun)");
  for (const std::string op : {"ring_rotate", "softmax_all_reduce", "softmax_reduce_scatter", "all_reduce",
                               "reduce_scatter", "alltoall", "broadcast", "sendrecv"})
    expect_one_report(kMpirun + "3 " + kPerf + op + " -b 4K -e 4K -n 2", "# Ranks: 3 (mpirun)");
  expect_one_report(kMpirun + "2 " + kPerf + "ring_attention --seq 128 -n 1", "# Ranks: 2 (mpirun)");
}

TEST(PerfLaunchTest, TorchrunsVariablesAreUsed) {
  const std::string set =
      "MASTER_ADDR=127.0.0.1 MASTER_PORT=29417 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 TORCHELASTIC_RUN_ID=perf ";
  expect_one_report("sh -c '" + set + "RANK=1 LOCAL_RANK=1 " + kPerf + "all_reduce -b 4K -e 4K -n 2 & " +
                        set + "RANK=0 LOCAL_RANK=0 " + kPerf +
                        "all_reduce -b 4K -e 4K -n 2; code=$?; wait; exit $code'",
                    "# Ranks: 2 (torchrun)");
}

}  // namespace
}  // namespace ringcomm
