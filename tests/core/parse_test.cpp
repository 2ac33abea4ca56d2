// SPDX-License-Identifier: Apache-2.0
// The oracle is a list of texts with the number that a strict reader may take from each.
#include "core/parse.hpp"

#include <gtest/gtest.h>

namespace ringcomm {
namespace {

TEST(ParseTest, DecimalIsTheWholeTextOrNothing) {
  EXPECT_EQ(parse_decimal<int>("12"), 12);
  EXPECT_EQ(parse_decimal<int>("-12"), -12);
  EXPECT_EQ(parse_decimal<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  for (const char* text : {"", "+1", " 1", "1 ", "1x", "--1", "18446744073709551616"}) {
    EXPECT_EQ(parse_decimal<std::uint64_t>(text), std::nullopt) << text;
  }
  EXPECT_EQ(parse_decimal<std::uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(parse_decimal<std::uint64_t>(std::string_view()), std::nullopt);
}

TEST(ParseTest, CountHasNoSign) {
  EXPECT_EQ(parse_count("0"), 0);
  EXPECT_EQ(parse_count("-0"), std::nullopt);
  EXPECT_EQ(parse_count("-1"), std::nullopt);
  EXPECT_EQ(parse_count("9223372036854775808"), std::nullopt);
}

TEST(ParseTest, CaseIsIgnoredForAsciiLettersOnly) {
  EXPECT_TRUE(equals_ignoring_case("Warn", "wARN"));
  EXPECT_FALSE(equals_ignoring_case("warn", "warns"));
  EXPECT_FALSE(equals_ignoring_case("@", "`"));
  EXPECT_TRUE(equals_ignoring_case("", ""));
}

}  // namespace
}  // namespace ringcomm
