// SPDX-License-Identifier: Apache-2.0
// The oracle is nccl-tests' documented meaning of each flag.
#include "../../perf/options.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace ringcomm::perf {
namespace {

Parsed parse_line(const std::string& line, const std::string& program = "ringcomm-perf") {
  static std::vector<std::string> words;
  words = {program};
  std::istringstream stream(line);
  for (std::string word; stream >> word;) words.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return parse(static_cast<int>(argv.size()), argv.data());
}

TEST(PerfOptionsTest, SizesTakeBinarySuffixesInBothCases) {
  const Options o = parse_line("all_gather -b 64K -e 1m -f 4 -t 2").options;
  EXPECT_EQ(o.bytes_min, 65536U);
  EXPECT_EQ(o.bytes_max, 1048576U);
  EXPECT_EQ(o.factor, 4);
}

TEST(PerfOptionsTest, DefaultsAreNcclTests) {
  const Options o = parse_line("all_gather -t 3").options;
  EXPECT_EQ(o.bytes_min, 32U << 20);
  EXPECT_EQ(o.iterations, 20);
  EXPECT_EQ(o.warmup, 1);
  EXPECT_EQ(o.checks, 1);
  EXPECT_EQ(o.aggregated, 1);
  EXPECT_EQ(o.cycles, 1);
  EXPECT_EQ(o.average, Average::mean);
  EXPECT_EQ(o.blocking, Blocking::none);
  EXPECT_EQ(o.dtypes, std::vector<DType>{DType::float32});
  EXPECT_EQ(parse_line("ring_attention -t 3").options.dtypes, std::vector<DType>{DType::bfloat16});
  EXPECT_EQ(parse_line("ring_attention -t 3 -d half").options.dtypes, std::vector<DType>{DType::float16});
}

TEST(PerfOptionsTest, SwitchesTakeZeroOrOneOrNothing) {
  EXPECT_TRUE(parse_line("all_gather -I 1").options.per_iteration);
  EXPECT_FALSE(parse_line("all_gather -I 0").options.per_iteration);
  const Options o = parse_line("-I -S -C 1 -M all_gather -K 3").options;
  EXPECT_TRUE(o.per_iteration && o.timestamps && o.cpu_time && o.memory_report);
  EXPECT_EQ(o.op, "all_gather");
  EXPECT_EQ(o.per_iteration_skip, 3);
}

TEST(PerfOptionsTest, LongNamesAndTheRestOfNcclTests) {
  const Options o =
      parse_line(
          "all_gather --minbytes 1K --maxbytes 1K --iters 3 --warmup_iters 2 --agg_iters 4 "
          "--run_cycles 2 --parallel_init 1 --blocking 3 --stream_null 0 --timeout 2.5 --cudagraph 0 "
          "--average 3 --local_register 0 --unalign 1 -g 1 -x 0 -D 0 -V 0 --root all --op all "
          "--datatype all --output_file f.json")
          .options;
  EXPECT_EQ(o.aggregated, 4);
  EXPECT_EQ(o.cycles, 2);
  EXPECT_EQ(o.blocking, Blocking::barrier_outside);
  EXPECT_EQ(o.average, Average::max);
  EXPECT_EQ(o.memory, Memory::private_memory);
  EXPECT_EQ(o.timeout_ms, 2500);
  EXPECT_EQ(o.unalign, 1);
  EXPECT_TRUE(o.all_roots);
  EXPECT_EQ(o.dtypes.size(), 12U);
  EXPECT_EQ(o.redops, (std::vector<ReduceOp>{ReduceOp::sum, ReduceOp::max, ReduceOp::min}));
  EXPECT_EQ(o.json, "f.json");
}

TEST(PerfOptionsTest, ProgramNameNamesTheOperation) {
  EXPECT_EQ(parse_line("-n 3", "/usr/bin/all_gather_perf").options.op, "all_gather");
  EXPECT_EQ(parse_line("ring_rotate_perf -n 3").options.op, "ring_rotate");
  EXPECT_EQ(parse_line("softmax_all_reduce", "all_gather_perf").options.op, "softmax_all_reduce");
}

TEST(PerfOptionsTest, WrongUseLeavesWithTheUsageCodeAndNamesTheNearest) {
  for (const auto& [line, text] : std::vector<std::pair<std::string, std::string>>{
           {"all_gather --iter 3", "Did you mean --iters?"},
           {"all_gather --chnk 3", "Did you mean --chunk?"},
           {"all_gathr", "Did you mean all_gather?"},
           {"all_gather -d flaot", "Did you mean float?"},
           {"all_gather -b 64Q", "64Q"},
           {"all_gather -b -1", "-1"},
           {"all_gather -b 2M -e 1M", "larger than -e"},
           {"all_gather -f 0.5", "larger than 1"},
           {"all_gather -t 2 --procs 2", "xcludes"},
           {"all_gather -n 0", "--iters"},
           {"all_gather -g 2", "-g 2 is not applicable"},
           {"all_gather -G 1", "no CUDA graphs"},
           {"all_gather -y 1", "no null stream"},
           {"all_gather -o summ", "Did you mean sum?"},
           {"all_gather -r two", "neither a rank nor all"},
           {"all_gather --full", "ring_rotate's"},
           {"all_gather --result private", "softmax_all_reduce's and sendrecv's"},
           {"sendrecv --result in_place", "softmax_all_reduce's"},
           {"all_gather --background all_gathr", "Did you mean all_gather?"},
           {"ring_rotate -C 1", "not applicable to ring_rotate"},
           {"ring_attention --cold", "not applicable to ring_attention"},
           {"decode_step -m 2", "not applicable to decode_step"},
           {"attention_step --limits", "ring_attention's"},
           {"ring_attention --local one_pass --limits", "--local excludes --limits"},
           {"softmax_reduce_scatter --input private", "softmax_all_reduce's"},
           {"all_gather --sweep -N 2", "excludes -N"},
           {"", "op"}}) {
    testing::internal::CaptureStderr();
    const Parsed parsed = parse_line(line);
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_EQ(parsed.exit_code, std::optional<int>(kUsage)) << line;
    EXPECT_NE(printed.find(text), std::string::npos) << line << " printed: " << printed;
  }
}

TEST(PerfOptionsTest, WhatIsNotImplementedLeavesWithItsOwnCode) {
  for (const std::string line : {"all_gather -o prod", "all_gather -o avg", "softmax_all_reduce -d int32"}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(parse_line(line).exit_code, std::optional<int>(kNotAvailable)) << line;
    EXPECT_NE(testing::internal::GetCapturedStderr().find("not implemented"), std::string::npos) << line;
  }
}

TEST(PerfOptionsTest, HelpFitsEightyColumnsAndLeavesWithZero) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(parse_line("--help").exit_code, std::optional<int>(0));
  std::istringstream lines(testing::internal::GetCapturedStdout());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_GT(count, 30);
}

}  // namespace
}  // namespace ringcomm::perf
