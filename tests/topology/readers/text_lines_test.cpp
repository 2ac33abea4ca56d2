// SPDX-License-Identifier: Apache-2.0
#include "topology/readers/text_lines.hpp"

#include <gtest/gtest.h>

#include "topology/readers/reader.hpp"

namespace ringcomm {
namespace {

TEST(TextLinesTest, LinesHaveNumbersAndNoEnds) {
  std::vector<std::string> seen;
  topology::for_each_line("a\r\n\nb", [&](std::string_view line, int number) {
    seen.push_back(std::to_string(number) + std::string(line));
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"1a", "2", "3b"}));
}

TEST(TextLinesTest, ShownTextIsShortAndPrintable) {
  EXPECT_EQ(topology::shown("a\tb\x80"), "a\\x09b\\x80");
  EXPECT_EQ(topology::shown(std::string(200, 'x')).size(), 83U);
}

TEST(TextLinesTest, CpuLists) {
  EXPECT_EQ(topology::parse_cpu_list("0-2,7,6-7"), (std::vector<int>{0, 1, 2, 6, 7}));
  for (const char* const bad : {"", "-1", "3-1", "a", "0,", "0-99999999"})
    EXPECT_FALSE(topology::parse_cpu_list(bad)) << bad;
}

TEST(TextLinesTest, MasksAreGroupsOf32BitsAndTheFirstMayBeShort) {
  EXPECT_EQ(topology::parse_cpu_mask("3,00000001"), (std::vector<int>{0, 32, 33}));
  EXPECT_EQ(topology::parse_cpu_mask("fff0000,00000000")->size(), 12U);
  EXPECT_EQ(topology::parse_cpu_mask("0x3"), (std::vector<int>{0, 1}));
  for (const char* const bad : {"", "123456789", "g", "0,,0"})
    EXPECT_FALSE(topology::parse_cpu_mask(bad)) << bad;
}

TEST(TextLinesTest, NumbersOfBaseZero) {
  EXPECT_EQ(topology::parse_base0("0x1f"), 31);
  EXPECT_EQ(topology::parse_base0("-1"), -1);
  for (const char* const bad : {"", "-", "0x", "1 ", "--1", "99999999999999999999"})
    EXPECT_FALSE(topology::parse_base0(bad)) << bad;
}

TEST(TextLinesTest, SkippedIsBoundedAndCounted) {
  std::vector<Skipped> skipped;
  for (std::size_t i = 0; i < topology::kSkippedMax + 5; ++i)
    topology::add_skipped(skipped, {"f", 1}, "x", "why");
  EXPECT_EQ(skipped.size(), topology::kSkippedMax + 1);
  EXPECT_EQ(skipped.back().text, "5");
}

}  // namespace
}  // namespace ringcomm
