// SPDX-License-Identifier: Apache-2.0
// Oracles: texts written out by hand, and a plain recursive definition of the edit distance.
#include "ringcomm/core/text.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace ringcomm {
namespace {

TEST(ConcatTest, JoinsTextNumbersAndCharacters) {
  EXPECT_EQ(concat(), "");
  EXPECT_EQ(concat("rank ", 3, " of ", 4U, '!'), "rank 3 of 4!");
  EXPECT_EQ(concat(std::string("a"), std::string_view("b"), std::int64_t{-1}), "ab-1");
  EXPECT_EQ(concat(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(concat(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(concat(std::uint8_t{7}), "7");
}

TEST(ConcatTest, FloatingPointHasSixSignificantDigits) {
  EXPECT_EQ(concat(0.1), "0.1");
  EXPECT_EQ(concat(1234567.0), "1.23457e+06");
  EXPECT_EQ(concat(-2.5F), "-2.5");
  EXPECT_EQ(concat(INFINITY, ' ', NAN), "inf nan");
}

TEST(FormatBytesTest, UsesBinaryUnitsWithAtMostTwoDecimals) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(64), "64 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(10 * 1024), "10 KiB");
  EXPECT_EQ(format_bytes((1U << 20) + (1U << 18)), "1.25 MiB");
  EXPECT_EQ(format_bytes(4ULL << 30), "4 GiB");
  EXPECT_EQ(format_bytes(3ULL << 40), "3 TiB");
  EXPECT_EQ(format_bytes(~0ULL), "16777216 TiB");
}

std::size_t plain_distance(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.size() + b.size();
  const std::size_t change = plain_distance(a.substr(1), b.substr(1)) + (a[0] == b[0] ? 0 : 1);
  return std::min({change, plain_distance(a.substr(1), b) + 1, plain_distance(a, b.substr(1)) + 1});
}

TEST(EditDistanceTest, AgreesWithThePlainDefinition) {
  const std::vector<std::string_view> words{"",     "a",     "ab",   "ba",     "abc",
                                            "RANK", "RANKS", "rank", "kitten", "sitting"};
  for (const auto a : words) {
    for (const auto b : words) EXPECT_EQ(edit_distance(a, b), plain_distance(a, b)) << a << " / " << b;
  }
}

TEST(NearestWordTest, IsTheFirstOfTheLeastDistance) {
  EXPECT_EQ(nearest_word("selftst", {"topo", "env", "selftest"}), "selftest");
  EXPECT_EQ(nearest_word("ab", {"ax", "ay"}), "ax");
  EXPECT_EQ(nearest_word("x", {}), "");
}

}  // namespace
}  // namespace ringcomm
