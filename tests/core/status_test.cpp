// SPDX-License-Identifier: Apache-2.0
// The oracle is the contract of the header, claim by claim.
#include "ringcomm/core/status.hpp"

#include <gtest/gtest.h>

#include <set>

namespace ringcomm {
namespace {

TEST(StatusTest, DefaultIsOkWithoutAMessage) {
  const Status status;
  EXPECT_TRUE(status.is_ok());
  EXPECT_EQ(status.code(), StatusCode::ok);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.to_string(), "ok");
}

TEST(StatusTest, OkCodeDropsItsMessage) {
  const Status status(StatusCode::ok, "ignored");
  EXPECT_TRUE(status.is_ok());
  EXPECT_EQ(status.message(), "");
}

TEST(StatusTest, EachFactoryMakesItsCode) {
  const std::vector<std::pair<Status, StatusCode>> made{
      {Status::invalid_argument("m"), StatusCode::invalid_argument},
      {Status::not_available("m"), StatusCode::not_available},
      {Status::not_found("m"), StatusCode::not_found},
      {Status::unreachable("m"), StatusCode::unreachable},
      {Status::timeout("m"), StatusCode::timeout},
      {Status::peer_lost("m"), StatusCode::peer_lost},
      {Status::mismatch("m"), StatusCode::mismatch},
      {Status::out_of_memory("m"), StatusCode::out_of_memory},
      {Status::aborted("m"), StatusCode::aborted},
      {Status::corrupt_data("m"), StatusCode::corrupt_data},
      {Status::internal("m"), StatusCode::internal},
  };
  for (const auto& [status, code] : made) {
    EXPECT_FALSE(status.is_ok());
    EXPECT_EQ(status.code(), code);
    EXPECT_EQ(status.message(), "m");
    EXPECT_EQ(status.to_string(), std::string(name_of(code)) + ": m");
  }
}

TEST(StatusTest, CodesHaveDistinctNames) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(StatusCode::internal); ++code) {
    EXPECT_TRUE(names.insert(name_of(static_cast<StatusCode>(code))).second) << code;
  }
  EXPECT_EQ(names.count("peer_lost"), 1U);
  EXPECT_EQ(names.count("unknown"), 0U);
  EXPECT_EQ(name_of(static_cast<StatusCode>(200)), "unknown");
}

TEST(StatusTest, CopiesShareTheMessageAndOutliveTheOriginal) {
  Status copy;
  {
    const Status original = Status::timeout("waited for rank 3");
    copy = original;
    EXPECT_EQ(copy.message().data(), original.message().data());
  }
  EXPECT_EQ(copy.to_string(), "timeout: waited for rank 3");
}

}  // namespace
}  // namespace ringcomm
