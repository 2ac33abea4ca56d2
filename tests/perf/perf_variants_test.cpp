// SPDX-License-Identifier: Apache-2.0
// ringcomm-perf in its variants: each must verify its results and say in the text what was measured.
#include <gtest/gtest.h>

#include "support/program.hpp"
#include "support/temp_dir.hpp"
#include "test_paths.hpp"

namespace ringcomm {
namespace {

const std::string kPerf = RINGCOMM_BIN_DIR "/ringcomm-perf ";

void expect_ok(const std::string& arguments, const std::string& text = "# Out of bounds values : 0 OK") {
  const auto run = test::run_program(kPerf + arguments);
  EXPECT_EQ(run.exit_code, 0) << arguments << "\n" << run.output;
  EXPECT_NE(run.output.find(text), std::string::npos) << arguments << "\n" << run.output;
}

TEST(PerfVariantsTest, RotationVariantsVerify) {
  for (const std::string flags :
       {"--full", "--full --mode relay", "--mode relay --overlap off", "--compute 50 --full",
        "--mode relay --chunk 4K --full", "--no-read", "-m 3"})
    expect_ok("ring_rotate -t 3 -b 16K -e 16K -n 3 " + flags);
  expect_ok("ring_rotate -t 2 -b 16K -e 16K -n 3 --compute 50", "overlap(%)");
}

TEST(PerfVariantsTest, SendRecvFromAWindowIntoPrivateMemoryVerifies) {
  expect_ok("sendrecv --procs 2 -b 64K -e 64K -n 2 --input window --result private",
            "input: window, results: private memory");
}

TEST(PerfVariantsTest, SoftmaxVariantsVerify) {
  for (const std::string flags :
       {"--algorithm one_shot", "--algorithm two_shot", "--form unnormalised", "-d bf16", "-d half"})
    expect_ok("softmax_all_reduce --procs 3 -b 64K -e 64K -n 2 " + flags);
  expect_ok("softmax_all_reduce -t 3 -b 64K -e 64K -n 2",
            "# Equal bits on ranks  : yes\n# Out of bounds values : 0 OK");
  for (const std::string flags : {"--result in_place", "--result private -d bf16",
                                  "--input private --result in_place", "--input private --result window"})
    expect_ok("softmax_all_reduce -t 3 -b 64K -e 64K -n 2 " + flags, "# Equal bits on ranks  : yes");
  for (const std::string flags : {"--algorithm packed_all_to_all", "--algorithm gather_stats",
                                  "--algorithm recursive_doubling --order fast"})
    expect_ok("softmax_all_reduce -t 3 -b 64K -e 64K -n 2 " + flags);
  for (const std::string flags : {"", "--form unnormalised -d bf16", "--algorithm packed_all_to_all"})
    expect_ok("softmax_reduce_scatter -t 3 -b 64K -e 64K -n 2 " + flags);
}

TEST(PerfVariantsTest, AttentionVariantsVerify) {
  const std::string small = " -t 3 --q-heads 2 --kv-heads 1 -n 1 ";
  for (const std::string flags : {"--limits", "--limits --mask full -d half", "--local one_pass",
                                  "--local partials --layout contiguous", "--strategy all_gather",
                                  "--strategy ring_relay --limits -d float"})
    expect_ok("ring_attention --seq 65" + small + flags);
  for (const std::string flags : {"", "--mode relay -d float"})
    expect_ok("attention_step -b 16K -e 16K --queries 5" + small + flags, "/local");
  expect_ok("decode_step -b 4K -e 8K -f 2 --seq 50" + small, "merge(us)");
  expect_ok("decode_step -b 4K -e 4K --seq 50 --algorithm one_shot -d half" + small);
}

TEST(PerfVariantsTest, AttentionIsServedBySize) {
  // 65536 bytes of K and V are 128 tokens of one head of 128 in bf16.
  const auto run = test::run_program("sh -c \"printf 'go 65536 2\\nquit\\n' | " + kPerf +
                                     "ring_attention -t 2 --serve --limits --q-heads 1 --kv-heads 1\"");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  for (const std::string text : {"\"one_pass(us)\": ", "\"partials(us)\": ", "\"ring(us)\": ",
                                 "\"wrong\": 0, \"size\": 65536, \"path\": \"inproc\"}"})
    EXPECT_NE(run.output.find(text), std::string::npos) << text << " in " << run.output;
}

TEST(PerfVariantsTest, EveryCollectiveVerifiesInEveryTypeReductionAndRoot) {
  for (const std::string op :
       {"all_reduce", "reduce_scatter", "alltoall", "broadcast", "sendrecv", "all_gather"}) {
    expect_ok(op + " -t 3 -b 1000 -e 1000 -n 2 -d all -o all -r all");
    expect_ok(op + " --procs 2 -b 64K -e 64K -n 2");
    expect_ok(op + " -t 1 -b 1000 -e 1000 -n 2");
    expect_ok(op + " -t 2 -b 4K -e 4K -n 3 -R 0 -u 1");
    expect_ok(op + " -t 2 -b 4K -e 4K -n 3 --cold --cold-bytes 64K");
    expect_ok(op + " -t 3 -b 1 -e 1 -n 1");  // nothing is left of it per rank
  }
}

TEST(PerfVariantsTest, LoopFlagsVerify) {
  for (const std::string flags :
       {"-z 1 -m 4", "-z 3", "-z 2 -N 2", "-C 1 -S 1 -I 1 -K 2", "-a 0", "-a 3", "-d all", "-c 0", "-M 1"})
    expect_ok("all_gather -t 3 -b 1000 -e 1000 -n 4 " + flags, flags == "-M 1" ? "# Host memory usage" : "#");
}

TEST(PerfVariantsTest, PrivateAndUnalignedMemoryVerify) {
  for (const std::string op : {"all_gather", "softmax_all_reduce", "ring_rotate"})
    expect_ok(op + " -t 2 -b 64K -e 64K -n 2 -R 0", "Buffers: private memory, warm");
  expect_ok("all_gather -t 2 -b 64K -e 64K -n 2 -u 1", "unalign: 1");
  expect_ok("softmax_all_reduce -t 2 -b 64K -e 64K -n 2 -u 3 -R 0");
}

TEST(PerfVariantsTest, ColdBuffersVerifyAndAreNamed) {
  expect_ok("all_gather -t 2 -b 64K -e 64K -n 5 --cold --cold-bytes 1M", "cold (buffers take turns: 1 MiB");
  expect_ok("softmax_all_reduce --procs 2 -b 64K -e 64K -n 5 --cold --cold-bytes 1M");
  expect_ok("ring_rotate --procs 2 -b 64K -e 64K -n 3 --cold --cold-bytes 1M", "caches flushed");
}

TEST(PerfVariantsTest, SweepNamesEveryNumberOfRanks) {
  for (const std::string ranks : {"-t 3", "--procs 3"}) {
    const auto run = test::run_program(kPerf + "all_gather --sweep -b 1K -e 2K -f 2 -n 3 " + ranks);
    EXPECT_EQ(run.exit_code, 0) << run.output;
    for (const std::string text :
         {"# size 1024: more than", "# size 2048: more than", "# Out of bounds values : 0 OK"})
      EXPECT_NE(run.output.find(text), std::string::npos) << run.output;
  }
  expect_ok("ring_attention --sweep -t 2 --seq 256 -n 1");
}

TEST(PerfVariantsTest, BackgroundRunsBesideAndIsNamed) {
  for (const std::string background : {"all_gather", "all_reduce", "softmax_all_reduce"}) {
    for (const std::string ranks : {"-t 2 ", "--procs 3 "})
      expect_ok(
          "ring_rotate " + ranks + "-b 64K -e 64K -n 4 --background-bytes 64K --background " + background,
          "slow-down");
  }
  expect_ok("ring_attention -t 2 --seq 256 -n 1 --background all_gather", "# Background: all_gather");
}

TEST(PerfVariantsTest, ServesSamplesOnDemand) {
  const auto run = test::run_program("sh -c \"printf 'go 4096 3\\ngo 4096 2\\ngo 65536 2\\nquit\\n' | " +
                                     kPerf + "ring_rotate --procs 2 --serve\"");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  std::size_t lines = 0;
  for (const char c : run.output) lines += c == '\n' ? 1 : 0;
  EXPECT_EQ(lines, 3U) << run.output;
  EXPECT_NE(run.output.find("\"wrong\": 0, \"size\": 65536, \"path\": \"shm\"}"), std::string::npos)
      << run.output;
}

TEST(PerfVariantsTest, LaunchersVariablesAreUsed) {
  const test::TempDir directory;
  const std::string store = "RINGCOMM_SIZE=2 RINGCOMM_STORE=file://" + (directory.path() / "meet").string();
  const auto run = test::run_program("sh -c '" + store + " RINGCOMM_RANK=1 " + kPerf +
                                     "all_gather -b 1K -e 1K -n 2 & " + store + " RINGCOMM_RANK=0 " + kPerf +
                                     "all_gather -b 1K -e 1K -n 2; code=$?; wait; exit $code'");
  EXPECT_EQ(run.exit_code, 0) << run.output;
  EXPECT_NE(run.output.find("# Ranks: 2 (RINGCOMM_*)"), std::string::npos) << run.output;
  EXPECT_EQ(run.output.find("Using devices"), run.output.rfind("Using devices")) << "rank 1 printed too";
  const auto both = test::run_program("env " + store + " RINGCOMM_RANK=0 " + kPerf + "all_gather -t 2");
  EXPECT_EQ(both.exit_code, 6) << both.output;
}

}  // namespace
}  // namespace ringcomm
