// SPDX-License-Identifier: Apache-2.0
// The oracle is what the test wrote into its own files.
#include "core/small_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/made_tree.hpp"

namespace ringcomm {
namespace {

using Pieces = std::vector<std::string_view>;

TEST(SmallFileTest, ReadsUpToTheBound) {
  const test::MadeTree tree;
  const std::string text(10'000, 'x');
  tree.write("file", text);
  EXPECT_EQ(read_small_file(tree.root() / "file", 100'000), text);
  EXPECT_EQ(read_small_file(tree.root() / "file", 10'000), text);
  EXPECT_EQ(read_small_file(tree.root() / "file", 4097).size(), 4097U);
  EXPECT_EQ(read_small_file(tree.root() / "file", 0), "");
}

TEST(SmallFileTest, ReadsKernelFilesThatReportNoSize) {
  EXPECT_FALSE(read_small_file("/proc/self/stat", 1 << 16).empty());
}

TEST(SmallFileTest, WhatCannotBeReadIsEmptyAndNeverBlocks) {
  const test::MadeTree tree;
  EXPECT_EQ(read_small_file(tree.root() / "missing", 100), "");
  EXPECT_EQ(read_small_file(tree.root(), 100), "");
  ASSERT_EQ(::mkfifo((tree.root() / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_small_file(tree.root() / "pipe", 100), "");
}

TEST(SplitTest, LeavesOutEmptyPieces) {
  EXPECT_EQ(split("", ','), Pieces{});
  EXPECT_EQ(split(",,", ','), Pieces{});
  EXPECT_EQ(split("a", ','), Pieces{"a"});
  EXPECT_EQ(split(",a,,bc,", ','), (Pieces{"a", "bc"}));
}

TEST(ValueAfterTest, TakesTheWordAfterTheWholeKey) {
  constexpr std::string_view kText = "total_file 1\nfile 22 33\nMemAvailable:   44 kB\nlonely\n";
  EXPECT_EQ(value_after(kText, "file"), "22");
  EXPECT_EQ(value_after(kText, "total_file"), "1");
  EXPECT_EQ(value_after(kText, "MemAvailable:"), "44");
  EXPECT_EQ(value_after(kText, "lonely"), "");
  EXPECT_EQ(value_after(kText, "absent"), "");
}

}  // namespace
}  // namespace ringcomm
