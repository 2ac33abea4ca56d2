// SPDX-License-Identifier: Apache-2.0
// What every device must do. The oracle for order is a plain vector that only ordered tasks may touch (a race
// shows under ThreadSanitizer); gates show that work does not get past a point, bounded waits that it does.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/gate.hpp"
#include "ringcomm/device/device.hpp"

namespace ringcomm {

struct DeviceUnderTest {
  std::string name;
  Device& (*device)();
  /// Blocking transfers between the test's memory and the device's.
  void (*write)(void* target, const std::vector<std::byte>& bytes);
  std::vector<std::byte> (*read)(const void* source, std::size_t bytes);
};

inline void PrintTo(const DeviceUnderTest& device, std::ostream* out) { *out << device.name; }
inline std::string name_of_device(const testing::TestParamInfo<DeviceUnderTest>& info) {
  return info.param.name;
}

class DeviceSuite : public testing::TestWithParam<DeviceUnderTest> {
 protected:
  Device& device() { return GetParam().device(); }
  Stream stream(std::size_t queue_tasks_max = 1024) {
    auto stream = device().create_stream({.placement = {}, .queue_tasks_max = queue_tasks_max});
    EXPECT_TRUE(stream.is_ok()) << stream.status().to_string();
    return std::move(stream).value();
  }
  Event event() {
    auto event = device().create_event();
    EXPECT_TRUE(event.is_ok()) << event.status().to_string();
    return std::move(event).value();
  }
  std::shared_ptr<Segment> memory(std::size_t bytes) {
    auto segment = device().allocate({.bytes = bytes, .kind = SegmentKind::local});
    EXPECT_TRUE(segment.is_ok()) << segment.status().to_string();
    return segment.value();
  }
};

#define EXPECT_OK(expression)                            \
  do {                                                   \
    const Status outcome = (expression);                 \
    EXPECT_TRUE(outcome.is_ok()) << outcome.to_string(); \
  } while (false)

inline Status failure() { return Status::peer_lost("rank 3 died"); }

TEST_P(DeviceSuite, StreamRunsTasksInOrder) {
  Stream stream = this->stream(8);  // fewer than the tasks: enqueue must wait for room
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i)
    EXPECT_OK(stream.enqueue([&order, i] { return order.push_back(i), Status(); }));
  EXPECT_OK(stream.synchronize(patience()));
  ASSERT_EQ(order.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_P(DeviceSuite, EnqueueReturnsBeforeTheTaskRuns) {
  Gate gate;
  bool has_run = false;
  Stream stream = this->stream();
  EXPECT_OK(stream.enqueue([&] { return gate.pass(); }));
  EXPECT_OK(stream.enqueue([&] { return has_run = true, Status(); }));
  EXPECT_EQ(stream.synchronize(Deadline::after(kWatched)).code(), StatusCode::timeout);
  EXPECT_FALSE(has_run);
  gate.open();
  EXPECT_OK(stream.synchronize(patience()));
  EXPECT_TRUE(has_run);
}

TEST_P(DeviceSuite, StreamsDoNotWaitForEachOther) {
  Gate gate;
  Stream blocked = stream(), free = stream();
  EXPECT_OK(blocked.enqueue([&] { return gate.pass(); }));
  EXPECT_OK(free.enqueue([] { return Status(); }));
  EXPECT_OK(free.synchronize(patience()));
  gate.open();
  EXPECT_OK(blocked.synchronize(patience()));
}

TEST_P(DeviceSuite, AnErrorIsStickyAndLaterTasksAreDropped) {
  Gate gate;
  bool has_run = false;
  Stream stream = this->stream(), other = this->stream();
  EXPECT_OK(stream.enqueue([&] { return gate.pass(); }));
  EXPECT_OK(stream.enqueue([] { return failure(); }));
  EXPECT_OK(stream.enqueue([&] { return has_run = true, Status::internal("a later failure"); }));
  EXPECT_OK(stream.status());
  gate.open();
  EXPECT_EQ(stream.synchronize(patience()).to_string(), failure().to_string());
  EXPECT_EQ(stream.status().to_string(), failure().to_string());
  EXPECT_EQ(stream.enqueue([&] { return has_run = true, Status(); }).to_string(), failure().to_string());
  EXPECT_EQ(stream.synchronize(patience()).to_string(), failure().to_string());
  EXPECT_FALSE(has_run);
  EXPECT_OK(other.synchronize(patience()));
}

TEST_P(DeviceSuite, WhatATaskHoldsIsGoneWhenItHasEnded) {
  Stream stream = this->stream();
  auto held = std::make_shared<int>(0);
  EXPECT_OK(stream.enqueue([held] { return Status(); }));
  EXPECT_OK(stream.synchronize(patience()));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_OK(stream.enqueue([] { return failure(); }));
  static_cast<void>(stream.enqueue([held] { return Status(); }));
  static_cast<void>(stream.synchronize(patience()));
  EXPECT_EQ(held.use_count(), 1);
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

TEST_P(DeviceSuite, DestructorLetsQueuedWorkFinish) {
  int runs = 0;
  {
    Stream stream = this->stream();
    for (int i = 0; i < 100; ++i) EXPECT_OK(stream.enqueue([&runs] { return ++runs, Status(); }));
  }
  EXPECT_EQ(runs, 100);
}

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

TEST_P(DeviceSuite, CopiesFollowTheStream) {
  for (const std::size_t bytes : {0U, 1U, 63U, 4097U, (1U << 20) + 3U}) {
    const auto a = memory(bytes), b = memory(bytes), c = memory(bytes);
    std::vector<std::byte> pattern(bytes);
    for (std::size_t i = 0; i < bytes; ++i) pattern[i] = static_cast<std::byte>(i * 7 + 1);
    GetParam().write(a->data(), pattern);
    Gate gate;
    Stream stream = this->stream();
    EXPECT_OK(stream.enqueue([&] { return gate.pass(); }));
    EXPECT_OK(device().copy(b->data(), a->data(), bytes, stream.view()));
    EXPECT_OK(device().copy(c->data(), b->data(), bytes, stream.view()));
    EXPECT_EQ(GetParam().read(c->data(), bytes), std::vector<std::byte>(bytes));
    gate.open();
    EXPECT_OK(stream.synchronize(patience()));
    EXPECT_EQ(GetParam().read(c->data(), bytes), pattern);
  }
}

TEST_P(DeviceSuite, CopyWithoutAStreamBlocks) {
  const auto a = memory(100), b = memory(100);
  GetParam().write(a->data(), std::vector<std::byte>(100, std::byte{5}));
  EXPECT_OK(device().copy(b->data(), a->data(), 99, {}));
  std::vector<std::byte> expected(100, std::byte{5});
  expected.back() = std::byte{0};
  EXPECT_EQ(GetParam().read(b->data(), 100), expected);
}

TEST_P(DeviceSuite, CopyRefusesNullAndOverlap) {
  const auto a = memory(100);
  Stream stream = this->stream();
  for (const StreamView view : {StreamView{}, stream.view()}) {
    EXPECT_EQ(device().copy(nullptr, a->data(), 1, view).code(), StatusCode::invalid_argument);
    EXPECT_EQ(device().copy(a->data(), nullptr, 1, view).code(), StatusCode::invalid_argument);
    EXPECT_EQ(device().copy(a->data() + 1, a->data(), 2, view).code(), StatusCode::invalid_argument);
    EXPECT_EQ(device().copy(a->data(), a->data() + 1, 2, view).code(), StatusCode::invalid_argument);
    EXPECT_OK(device().copy(a->data() + 1, a->data(), 1, view));
    EXPECT_OK(device().copy(nullptr, nullptr, 0, view));
  }
}

TEST_P(DeviceSuite, AllocatesZerosAndRefusesWhatCannotFit) {
  EXPECT_EQ(GetParam().read(memory(1000)->data(), 1000), std::vector<std::byte>(1000));
  EXPECT_EQ(device().allocate({.bytes = std::size_t{1} << 50}).status().code(), StatusCode::out_of_memory);
}

}  // namespace ringcomm
