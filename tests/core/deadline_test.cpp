// SPDX-License-Identifier: Apache-2.0
// Deadlines are placed far in the past or the future, so that no test depends on how fast it runs.
#include "ringcomm/core/deadline.hpp"

#include <gtest/gtest.h>

namespace ringcomm {
namespace {

using namespace std::chrono_literals;

TEST(DeadlineTest, DefaultNeverExpires) {
  const Deadline never;
  EXPECT_FALSE(never.is_expired());
  EXPECT_EQ(never.remaining_ns(), INT64_MAX);
}

TEST(DeadlineTest, PastIsExpiredWithNothingLeft) {
  for (const Deadline past :
       {Deadline::after(-1s), Deadline::after(0ns), Deadline::at_ns(0), Deadline::at_ns(-5)}) {
    EXPECT_TRUE(past.is_expired());
    EXPECT_EQ(past.remaining_ns(), 0);
  }
}

TEST(DeadlineTest, FutureHasTimeLeft) {
  const Deadline later = Deadline::after(1h);
  EXPECT_FALSE(later.is_expired());
  EXPECT_GT(later.remaining_ns(), std::chrono::nanoseconds(50min).count());
  EXPECT_LE(later.remaining_ns(), std::chrono::nanoseconds(1h).count());
}

TEST(DeadlineTest, SpansBeyondTheClockNeverExpire) {
  const Deadline far = Deadline::after(std::chrono::nanoseconds::max());
  EXPECT_FALSE(far.is_expired());
  EXPECT_GT(far.remaining_ns(), 0);
  EXPECT_TRUE(Deadline::after(std::chrono::nanoseconds::min()).is_expired());
}

TEST(DeadlineTest, PointCanBeHandedToAnotherRank) {
  const Deadline original = Deadline::after(1h);
  EXPECT_EQ(Deadline::at_ns(original.point_ns()).point_ns(), original.point_ns());
  EXPECT_FALSE(Deadline::at_ns(Deadline().point_ns()).is_expired());
}

TEST(DeadlineTest, ClockDoesNotRunBackwards) {
  const auto first = now_ns();
  EXPECT_LE(first, now_ns());
}

}  // namespace
}  // namespace ringcomm
