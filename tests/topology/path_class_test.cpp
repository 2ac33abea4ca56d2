// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/topology/path_class.hpp"

#include <gtest/gtest.h>

namespace ringcomm {
namespace {

TEST(PathClassTest, WordsGoBothWays) {
  for (int i = 0; i < static_cast<int>(PathClass::unknown); ++i) {
    const auto path_class = static_cast<PathClass>(i);
    EXPECT_EQ(parse_path_class(name_of(path_class)), path_class);
  }
  EXPECT_EQ(name_of(PathClass::unknown), "?");
}

TEST(PathClassTest, CellsOfNvidiaSmi) {
  EXPECT_EQ(parse_path_class("X"), PathClass::loc);
  EXPECT_EQ(parse_path_class("NV18"), PathClass::nvl);
  EXPECT_EQ(parse_path_class("node"), PathClass::node);
  for (const char* const word : {"", "?", "NV", "NVx", "N/A", "GPU0"})
    EXPECT_FALSE(parse_path_class(word)) << word;
}

TEST(PathClassTest, OrderIsNcclsWithNodeBetweenPhbAndSys) {
  EXPECT_LT(PathClass::nvl, PathClass::nvb);
  EXPECT_LT(PathClass::pxb, PathClass::phb);
  EXPECT_LT(PathClass::phb, PathClass::node);
  EXPECT_LT(PathClass::node, PathClass::sys);
}

TEST(SourceTest, MeasuredIsBest) { EXPECT_GT(Source::measured, Source::evidence); }

}  // namespace
}  // namespace ringcomm
