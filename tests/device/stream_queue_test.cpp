// SPDX-License-Identifier: Apache-2.0
// The queue without its thread: the test is the worker, so that each state between two tasks can be looked
// at.
#include "device/host/stream_queue.hpp"

#include <gtest/gtest.h>

#include "device/gate.hpp"

namespace ringcomm {
namespace {

Status nothing() { return {}; }

TEST(StreamQueueTest, RunsWhatIsQueuedAndEndsWhenClosed) {
  StreamQueue queue(4);
  int runs = 0;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(queue.enqueue([&] { return ++runs, Status(); }, {}).is_ok());
  EXPECT_EQ(queue.position(), 4U);
  EXPECT_FALSE(queue.is_over(1));
  queue.close();
  EXPECT_EQ(queue.enqueue(nothing, {}).code(), StatusCode::aborted);
  queue.run();
  EXPECT_EQ(runs, 4);
  EXPECT_TRUE(queue.is_over(4));
  EXPECT_TRUE(queue.wait_for_end({}));
}

TEST(StreamQueueTest, AnErrorCountsFromTheFailingTaskOn) {
  StreamQueue queue(4);
  ASSERT_TRUE(queue.enqueue(nothing, {}).is_ok());
  ASSERT_TRUE(queue.enqueue([] { return Status::peer_lost("gone"); }, {}).is_ok());
  ASSERT_TRUE(queue.enqueue(nothing, {}).is_ok());
  queue.close();
  queue.run();
  EXPECT_TRUE(queue.wait_for(0, {}, nullptr).is_ok());
  EXPECT_TRUE(queue.wait_for(1, {}, nullptr).is_ok());
  EXPECT_EQ(queue.wait_for(2, {}, nullptr).code(), StatusCode::peer_lost);
  EXPECT_EQ(queue.wait_for(3, {}, nullptr).code(), StatusCode::peer_lost);
}

TEST(StreamQueueTest, AWaitNoticesThatItsOwnStreamStops) {
  StreamQueue queue(1);
  ASSERT_TRUE(queue.enqueue(nothing, {}).is_ok());
  std::atomic<bool> stop{false};
  std::thread stopper([&] {
    std::this_thread::sleep_for(kWatched);
    stop = true;
  });
  EXPECT_EQ(queue.wait_for(1, patience(), &stop).code(), StatusCode::aborted);
  stopper.join();
}

TEST(StreamQueueTest, DroppedAndAbandonedIsOverWithTheReason) {
  StreamQueue queue(2);
  ASSERT_TRUE(queue.enqueue(nothing, {}).is_ok());
  queue.drop(Status::aborted("no time left"));
  EXPECT_TRUE(queue.stop_flag());
  EXPECT_FALSE(queue.is_over(1));
  queue.abandon();
  EXPECT_EQ(queue.wait_for(1, patience(), nullptr).message(), "no time left");
}

}  // namespace
}  // namespace ringcomm
