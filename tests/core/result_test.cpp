// SPDX-License-Identifier: Apache-2.0
// The oracle is the contract of the header; what check() prints and how it exits is seen from outside.
#include "ringcomm/core/result.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/try.hpp"

namespace ringcomm {
namespace {

Result<int> half_of(int value) {
  if (value % 2 != 0) return Status::invalid_argument("odd");
  return value / 2;
}

TEST(ResultTest, HoldsAValueAndAnOkStatus) {
  const Result<int> result = half_of(4);
  EXPECT_TRUE(result.is_ok());
  EXPECT_TRUE(result.status().is_ok());
  EXPECT_EQ(result.value(), 2);
}

TEST(ResultTest, HoldsTheStatusThatExplainsTheAbsence) {
  const Result<int> result = half_of(3);
  EXPECT_FALSE(result.is_ok());
  EXPECT_EQ(result.status().to_string(), "invalid_argument: odd");
}

TEST(ResultTest, OkStatusWithoutAValueBecomesAnInternalError) {
  const Result<int> result{Status()};
  EXPECT_FALSE(result.is_ok());
  EXPECT_EQ(result.status().code(), StatusCode::internal);
}

TEST(ResultTest, MovesValuesThatCannotBeCopied) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 7);
}

TEST(ResultTest, ArrowReachesTheValue) {
  Result<std::string> result(std::string("abc"));
  EXPECT_EQ(result->size(), 3U);
  result->push_back('d');
  EXPECT_EQ(std::as_const(result)->size(), 4U);
}

Result<int> quarter_of(int value) {
  RINGCOMM_TRY_ASSIGN(const int half, half_of(value));
  RINGCOMM_TRY_ASSIGN(const int quarter, half_of(half));
  return quarter;
}
Status evenness_of(int value, int& calls) {
  RINGCOMM_TRY(half_of(value).status());
  ++calls;
  return {};
}

TEST(TryTest, ReturnsTheFirstFailureAndGoesOnOtherwise) {
  EXPECT_EQ(check(quarter_of(8)), 2);
  EXPECT_EQ(quarter_of(6).status().message(), "odd");
  EXPECT_EQ(quarter_of(5).status().message(), "odd");
  int calls = 0;
  EXPECT_FALSE(evenness_of(1, calls).is_ok());
  EXPECT_EQ(calls, 0);
  EXPECT_TRUE(evenness_of(2, calls).is_ok());
  EXPECT_EQ(calls, 1);
}

TEST(CheckTest, PassesValuesThrough) {
  check(Status());
  EXPECT_EQ(check(half_of(10)), 5);
}

TEST(CheckTest, PrintsAndExitsWith1OnFailure) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(check(half_of(3)), testing::ExitedWithCode(1), "^ringcomm: invalid_argument: odd\n$");
}

}  // namespace
}  // namespace ringcomm
