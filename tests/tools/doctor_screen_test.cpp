// SPDX-License-Identifier: Apache-2.0
// What screens are made of: the oracle is the counted column.
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

}  // namespace
}  // namespace ringcomm::doctor
