// SPDX-License-Identifier: Apache-2.0
// Text that a terminal can show: the oracle is the counted column.
#include <gtest/gtest.h>

#include <sstream>

#include "screen.hpp"

namespace ringcomm::doctor {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(DoctorScreenTest, ColumnsAreCharactersAndNotBytes) {
  EXPECT_EQ(columns_of("a→b"), 3U);
  EXPECT_EQ(fit("a→b", 5), "a→b  ");
  EXPECT_EQ(fit("abcdefgh", 6), "abc...");
  EXPECT_EQ(shorten("two\nlines", 20), "two lines");
}

TEST(DoctorScreenTest, WrapKeepsWordsAndMargin) {
  EXPECT_EQ(wrap("fix  ", "one two three", 12), "fix  one two\n     three\n");
  EXPECT_EQ(wrap("  ", "a-word-longer b", 10), "  a-word-l\n  onger b\n");
  EXPECT_EQ(wrap("  ", "in /some/folder/file.txt:2; b", 12),
            "  in\n  /some/\n  folder/\n  file.txt:2\n  ; b\n");
  EXPECT_EQ(wrap("x  ", "", 10), "x  \n");
}

TEST(DoctorScreenTest, BoxesStandSideBySideWhereTheyFit) {
  const Box narrow{"one", {"line", "a longer line"}};
  const auto both = lines_of(draw({narrow, narrow}, {}));
  ASSERT_EQ(both.size(), 4U);
  for (const std::string& line : both) EXPECT_EQ(columns_of(line), columns_of(both[0]));
  const Box wide{"two", {std::string(80, 'x')}};
  EXPECT_EQ(lines_of(draw({narrow, wide}, {})).size(), 7U);
  for (const std::string& line : lines_of(draw({{"t", {std::string(300, 'x')}}}, {})))
    EXPECT_EQ(columns_of(line), 100U);
}

TEST(DoctorScreenTest, AsciiStyleHasSevenBits) {
  TextStyle ascii;
  ascii.ascii = true;
  for (const char byte : draw({{"t", {"x"}}}, ascii)) EXPECT_GE(byte, 0);
  EXPECT_EQ(printable("a→b", ascii), "a?b");
}

TEST(DoctorScreenTest, ForeignTextCannotSteerTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\rc\x7f"
                      "d",
                      {}),
            "a?[2Jb?c?d");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J",
                      {}),
            "??2J");                           // C1 control
  EXPECT_EQ(printable("\xff\xc3", {}), "??");  // not UTF-8
  EXPECT_EQ(printable("line\n→ ü", {}), "line\n→ ü");
}

TEST(DoctorScreenTest, ListsEndInWords) {
  EXPECT_EQ(list_of({}), "");
  EXPECT_EQ(list_of({"a"}), "a");
  EXPECT_EQ(list_of({"a", "b", "c"}), "a, b and c");
  EXPECT_EQ(list_of({"a", "b", "c", "d"}, 2), "a, b and 2 more");
  EXPECT_EQ(count_of(1, "GPU"), "1 GPU");
  EXPECT_EQ(count_of(0, "GPU"), "0 GPUs");
}

}  // namespace
}  // namespace ringcomm::doctor
