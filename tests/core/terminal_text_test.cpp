// SPDX-License-Identifier: Apache-2.0
// Text that a terminal can show: the oracle is the counted column.
#include "core/terminal_text.hpp"

#include <gtest/gtest.h>

namespace ringcomm {
namespace {

TEST(TerminalTextTest, ColumnsAreCharactersAndNotBytes) {
  EXPECT_EQ(columns_of("a→b"), 3U);
  EXPECT_EQ(fit("a→b", 5), "a→b  ");
  EXPECT_EQ(fit("abcdefgh", 6), "abc...");
  EXPECT_EQ(shorten("two\nlines", 20), "two lines");
}

TEST(TerminalTextTest, WrapKeepsWordsAndMargin) {
  EXPECT_EQ(wrap("fix  ", "one two three", 12), "fix  one two\n     three\n");
  EXPECT_EQ(wrap("  ", "a-word-longer b", 10), "  a-word-l\n  onger b\n");
  EXPECT_EQ(wrap("  ", "in /some/folder/file.txt:2; b", 12),
            "  in\n  /some/\n  folder/\n  file.txt:2\n  ; b\n");
  EXPECT_EQ(wrap("x  ", "", 10), "x  \n");
}

TEST(TerminalTextTest, ForeignTextCannotSteerTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\rc\x7f"
                      "d",
                      false),
            "a?[2Jb?c?d");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J",
                      false),
            "??2J");                              // C1 control
  EXPECT_EQ(printable("\xff\xc3", false), "??");  // not UTF-8
  EXPECT_EQ(printable("line\n→ ü", false), "line\n→ ü");
}

TEST(TerminalTextTest, ListsEndInWords) {
  EXPECT_EQ(list_of({}), "");
  EXPECT_EQ(list_of({"a"}), "a");
  EXPECT_EQ(list_of({"a", "b", "c"}), "a, b and c");
  EXPECT_EQ(list_of({"a", "b", "c", "d"}, 2), "a, b and 2 more");
  EXPECT_EQ(count_of(1, "GPU"), "1 GPU");
  EXPECT_EQ(count_of(0, "GPU"), "0 GPUs");
}

}  // namespace
}  // namespace ringcomm
