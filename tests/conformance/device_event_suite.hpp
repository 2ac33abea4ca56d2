// SPDX-License-Identifier: Apache-2.0
// What the events of every device must do. The oracle for order is plain data that two streams hand to each
// other (a race shows under ThreadSanitizer); gates show that work does not get past a point.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "conformance/device_fixture.hpp"

namespace ringcomm {

TEST_P(DeviceSuite, EventHandsDataFromOneStreamToAnother) {
  Stream producer = stream(), consumer = stream();
  Event full = event(), empty = event();
  int slot = 0;
  std::vector<int> seen;
  for (int i = 0; i < 200; ++i) {
    if (i > 0) EXPECT_OK(empty.wait(producer.view()));
    EXPECT_OK(producer.enqueue([&slot, i] {
      if (i % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
      slot = i;
      return Status();
    }));
    EXPECT_OK(full.record(producer.view()));
    EXPECT_OK(full.wait(consumer.view()));
    EXPECT_OK(consumer.enqueue([&] { return seen.push_back(slot), Status(); }));
    EXPECT_OK(empty.record(consumer.view()));
  }
  EXPECT_OK(consumer.synchronize(patience()));
  EXPECT_OK(producer.synchronize(patience()));
  ASSERT_EQ(seen.size(), 200U);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

TEST_P(DeviceSuite, EventWaitHoldsBackOnlyWhatFollowsIt) {
  Gate a_started;
  std::vector<std::string> order;
  Stream a = stream(), b = stream();
  Event e = event();
  EXPECT_OK(b.enqueue([&] { return a_started.pass(); }));
  EXPECT_OK(b.enqueue([&] {
    std::this_thread::sleep_for(kWatched);  // so that an early "a last" would come first
    return order.emplace_back("b"), Status();
  }));
  EXPECT_OK(e.record(b.view()));
  EXPECT_OK(a.enqueue([&] { return order.emplace_back("a first"), a_started.open(), Status(); }));
  EXPECT_OK(e.wait(a.view()));
  EXPECT_OK(a.enqueue([&] { return order.emplace_back("a last"), Status(); }));
  EXPECT_OK(a.synchronize(patience()));
  EXPECT_OK(b.synchronize(patience()));
  EXPECT_EQ(order, (std::vector<std::string>{"a first", "b", "a last"}));
}

TEST_P(DeviceSuite, WaitForAnEventThatNobodyRecordedIsRefused) {
  Stream stream = this->stream();
  Event e = event();
  EXPECT_EQ(e.wait(stream.view()).code(), StatusCode::invalid_argument);
  EXPECT_EQ(e.wait({}).code(), StatusCode::invalid_argument);
  EXPECT_EQ(e.synchronize(patience()).code(), StatusCode::invalid_argument);
  EXPECT_FALSE(e.is_done());
  EXPECT_OK(stream.synchronize(patience()));
}

TEST_P(DeviceSuite, BlockingWaitAndIsDoneFollowTheStream) {
  Gate gate;
  Stream stream = this->stream();
  Event before = event(), after = event();
  EXPECT_OK(before.record(stream.view()));
  EXPECT_OK(stream.enqueue([&] { return gate.pass(); }));
  EXPECT_OK(after.record(stream.view()));
  EXPECT_OK(before.wait({}));
  EXPECT_TRUE(before.is_done());
  EXPECT_EQ(after.synchronize(Deadline::after(kWatched)).code(), StatusCode::timeout);
  EXPECT_FALSE(after.is_done());
  gate.open();
  EXPECT_OK(after.wait({}));
  EXPECT_TRUE(after.is_done());
}

TEST_P(DeviceSuite, AWaitCountsForTheLastRecordBeforeIt) {
  Gate first, second;
  Stream a = stream(), b = stream();
  Event e = event();
  EXPECT_OK(b.enqueue([&] { return first.pass(); }));
  EXPECT_OK(e.record(b.view()));
  EXPECT_OK(e.wait(a.view()));
  EXPECT_OK(b.enqueue([&] { return second.pass(); }));
  EXPECT_OK(e.record(b.view()));
  first.open();
  EXPECT_OK(a.synchronize(patience()));
  EXPECT_FALSE(e.is_done());
  EXPECT_OK(e.wait(a.view()));
  EXPECT_EQ(a.synchronize(Deadline::after(kWatched)).code(), StatusCode::timeout);
  second.open();
  EXPECT_OK(a.synchronize(patience()));
}

TEST_P(DeviceSuite, ALaterRecordOnAFasterStreamReleasesNobodyTooEarly) {
  Gate gate;
  Stream a = stream(), slow = stream(), fast = stream();
  Event e = event();
  EXPECT_OK(slow.enqueue([&] { return gate.pass(); }));
  EXPECT_OK(e.record(slow.view()));
  EXPECT_OK(e.wait(a.view()));
  EXPECT_OK(e.record(fast.view()));
  EXPECT_OK(e.wait({}));
  EXPECT_EQ(a.synchronize(Deadline::after(kWatched)).code(), StatusCode::timeout);
  gate.open();
  EXPECT_OK(a.synchronize(patience()));
}

TEST_P(DeviceSuite, AQueuedWaitOutlivesItsEventAndTheRecordingStream) {
  Gate gate;
  Stream a = stream();
  bool b_has_run = false, a_saw_it = false;
  std::thread opener([&] {
    EXPECT_TRUE(gate.wait_for_arrival());
    std::this_thread::sleep_for(kWatched);
    gate.open();
  });
  {
    Stream b = stream();
    Event e = event();
    EXPECT_OK(b.enqueue([&] { return gate.pass(); }));
    EXPECT_OK(b.enqueue([&] { return b_has_run = true, Status(); }));
    EXPECT_OK(e.record(b.view()));
    EXPECT_OK(e.wait(a.view()));
    EXPECT_OK(a.enqueue([&] { return a_saw_it = b_has_run, Status(); }));
  }
  EXPECT_OK(a.synchronize(patience()));
  EXPECT_TRUE(a_saw_it);
  opener.join();
}

TEST_P(DeviceSuite, AFailureReachesWhoWaitsThroughEvents) {
  Gate gate;
  bool has_run = false;
  Stream a = stream(), b = stream();
  Event before = event(), after = event();
  EXPECT_OK(b.enqueue([&] { return gate.pass(); }));
  EXPECT_OK(before.record(b.view()));
  EXPECT_OK(b.enqueue([] { return failure(); }));
  EXPECT_OK(after.record(b.view()));
  EXPECT_OK(after.wait(a.view()));
  EXPECT_OK(a.enqueue([&] { return has_run = true, Status(); }));
  gate.open();
  EXPECT_EQ(a.synchronize(patience()).to_string(), failure().to_string());
  EXPECT_FALSE(has_run);
  EXPECT_OK(before.synchronize(patience()));
  EXPECT_EQ(after.synchronize(patience()).to_string(), failure().to_string());
  EXPECT_EQ(after.wait({}).to_string(), failure().to_string());
  EXPECT_TRUE(after.is_done());
}

TEST_P(DeviceSuite, AnEventRecordedOnAFailedStreamEndsWithItsError) {
  Stream a = stream(), b = stream();
  Event e = event();
  EXPECT_OK(b.enqueue([] { return failure(); }));
  static_cast<void>(b.synchronize(patience()));
  EXPECT_OK(e.record(b.view()));
  EXPECT_EQ(e.synchronize(patience()).to_string(), failure().to_string());
  EXPECT_OK(e.wait(a.view()));
  EXPECT_EQ(a.synchronize(patience()).to_string(), failure().to_string());
}

/// Something that takes a while to give back.
class SlowToEnd {
 public:
  explicit SlowToEnd(std::atomic<bool>& has_ended) : has_ended_(&has_ended) {}
  SlowToEnd(SlowToEnd&& other) noexcept : has_ended_(std::exchange(other.has_ended_, nullptr)) {}
  ~SlowToEnd() {
    if (has_ended_ == nullptr) return;
    std::this_thread::sleep_for(kWatched);
    *has_ended_ = true;
  }

 private:
  std::atomic<bool>* has_ended_;
};

TEST_P(DeviceSuite, AnEventIsDoneOnlyWhenWhatTheTaskHeldIsGone) {
  Stream stream = this->stream();
  Event e = event();
  std::atomic<bool> has_ended{false};
  EXPECT_OK(stream.enqueue([held = SlowToEnd(has_ended)] { return Status(); }));
  EXPECT_OK(e.record(stream.view()));
  const Deadline deadline = patience();
  while (!e.is_done() && !deadline.is_expired()) std::this_thread::yield();
  EXPECT_TRUE(has_ended);
  EXPECT_OK(stream.synchronize(patience()));
}

}  // namespace ringcomm
