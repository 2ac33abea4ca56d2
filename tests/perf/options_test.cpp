// SPDX-License-Identifier: Apache-2.0
// The oracle is nccl-tests' documented meaning of each flag.
#include "../../perf/options.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace ringcomm::perf {
namespace {

Parsed parse_line(const std::string& line) {
  static std::vector<std::string> words;
  words = {"ringcomm-perf"};
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
  EXPECT_EQ(o.dtype, DType::float32);
  EXPECT_EQ(parse_line("ring_attention -t 3").options.dtype, DType::bfloat16);
  EXPECT_EQ(parse_line("ring_attention -t 3 -d half").options.dtype, DType::float16);
}

TEST(PerfOptionsTest, WrongUseLeavesWithTheUsageCodeAndNamesTheNearest) {
  for (const auto& [line, text] :
       std::vector<std::pair<std::string, std::string>>{{"all_gather --iter 3", "Did you mean --iters?"},
                                                        {"all_gather --chnk 3", "Did you mean --chunk?"},
                                                        {"all_gathr", "Did you mean all_gather?"},
                                                        {"all_gather -d flaot", "Did you mean float?"},
                                                        {"all_gather -b 64Q", "64Q"},
                                                        {"all_gather -b -1", "-1"},
                                                        {"all_gather -b 2M -e 1M", "larger than -e"},
                                                        {"all_gather -f 0.5", "larger than 1"},
                                                        {"all_gather -t 2 --procs 2", "excludes"},
                                                        {"all_gather -n 0", "--iters"},
                                                        {"", "op"}}) {
    testing::internal::CaptureStderr();
    const Parsed parsed = parse_line(line);
    const std::string printed = testing::internal::GetCapturedStderr();
    EXPECT_EQ(parsed.exit_code, std::optional<int>(kUsage)) << line;
    EXPECT_NE(printed.find(text), std::string::npos) << line << " printed: " << printed;
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
