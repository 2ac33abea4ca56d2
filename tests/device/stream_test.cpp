// SPDX-License-Identifier: Apache-2.0
// What only the host's stream promises: its limits, its end, and its copy in a forked child. The oracle is a
// gate that a task stands at, and a clock for the ends that must be bounded.
#include "device/host/stream.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <stdexcept>

#include "device/fork_util.hpp"
#include "device/gate.hpp"
#include "device/host/event.hpp"

namespace ringcomm {
namespace {

using std::chrono::milliseconds;

struct HostStreamUnderTest {
  explicit HostStreamUnderTest(std::size_t tasks_max = 16, milliseconds drain = HostStream::kDrain)
      : impl(HostStream::create({.placement = {}, .queue_tasks_max = tasks_max}, drain).value()) {}
  StreamImpl* operator->() const { return impl.get(); }
  StreamView view() const { return {impl.get()}; }
  std::weak_ptr<StreamQueue> queue() const { return dynamic_cast<HostStream&>(*impl).queue(); }
  std::unique_ptr<StreamImpl> impl;
};

bool is_gone(const std::weak_ptr<StreamQueue>& queue) {
  const Deadline deadline = patience();
  while (!queue.expired() && !deadline.is_expired()) std::this_thread::sleep_for(milliseconds(1));
  return queue.expired();
}

Status nothing() { return {}; }

TEST(StreamTest, RefusesAnEmptyOrAbsurdQueue) {
  for (const std::size_t tasks : {std::size_t{0}, (std::size_t{1} << 20) + 1, SIZE_MAX}) {
    EXPECT_EQ(HostStream::create({.placement = {}, .queue_tasks_max = tasks}).status().code(),
              StatusCode::invalid_argument);
  }
}

TEST(StreamTest, AFullQueueTimesOutAndTakesTasksAgain) {
  Gate gate;
  int runs = 0;
  HostStreamUnderTest stream(2);
  ASSERT_TRUE(stream->enqueue([&] { return gate.pass(); }, patience()).is_ok());
  ASSERT_TRUE(gate.wait_for_arrival());
  const auto count = [&] { return ++runs, Status(); };
  ASSERT_TRUE(stream->enqueue(count, patience()).is_ok());
  ASSERT_TRUE(stream->enqueue(count, patience()).is_ok());
  EXPECT_EQ(stream->enqueue(count, Deadline::after(kWatched)).code(), StatusCode::timeout);
  gate.open();
  EXPECT_TRUE(stream->enqueue(count, patience()).is_ok());
  EXPECT_TRUE(stream->synchronize(patience()).is_ok());
  EXPECT_EQ(runs, 3);
}

TEST(StreamTest, AFailureReleasesWhoWaitsForRoom) {
  Gate gate;
  HostStreamUnderTest stream(1);
  ASSERT_TRUE(
      stream->enqueue([&] { return static_cast<void>(gate.pass()), Status::peer_lost("gone"); }, {}).is_ok());
  ASSERT_TRUE(gate.wait_for_arrival());
  ASSERT_TRUE(stream->enqueue(nothing, {}).is_ok());
  std::thread opener([&] {
    std::this_thread::sleep_for(kWatched);
    gate.open();
  });
  EXPECT_EQ(stream->enqueue(nothing, patience()).code(), StatusCode::peer_lost);
  opener.join();
}

TEST(StreamTest, ATaskMayNotWaitForItsOwnStream) {
  HostStreamUnderTest stream(1);
  Status synchronized, enqueued;
  const auto from_task = [&]() -> Status {
    synchronized = stream->synchronize({});
    static_cast<void>(stream->enqueue(nothing, {}));
    enqueued = stream->enqueue(nothing, {});
    return {};
  };
  ASSERT_TRUE(stream->enqueue(from_task, {}).is_ok());
  EXPECT_TRUE(stream->synchronize(patience()).is_ok());
  EXPECT_EQ(synchronized.code(), StatusCode::invalid_argument);
  EXPECT_EQ(enqueued.code(), StatusCode::not_available);
}

TEST(StreamTest, WhatATaskThrowsBecomesTheStreamsError) {
  const auto error_after = [](auto thrower) {
    HostStreamUnderTest stream;
    EXPECT_TRUE(stream->enqueue(thrower, {}).is_ok());
    return stream->synchronize(patience()).to_string();
  };
  EXPECT_EQ(error_after([]() -> Status { throw std::runtime_error("no more ink"); }),
            "internal: stream's task threw: no more ink");
  EXPECT_EQ(error_after([]() -> Status { throw 7; }),
            "internal: stream's task threw something that is no std::exception");
  EXPECT_EQ(error_after([]() -> Status { throw std::bad_alloc(); }),
            "out_of_memory: stream's task ran out of memory (std::bad_alloc)");
}

TEST(StreamTest, TheWorkerTakesNoSignals) {
  HostStreamUnderTest stream;
  sigset_t mask;
  sigemptyset(&mask);
  ASSERT_TRUE(
      stream->enqueue([&] { return pthread_sigmask(SIG_SETMASK, nullptr, &mask), Status(); }, {}).is_ok());
  ASSERT_TRUE(stream->synchronize(patience()).is_ok());
  EXPECT_EQ(sigismember(&mask, SIGTERM), 1);
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 0);
}

TEST(StreamTest, DestructorDropsTheRestWhenTheDrainIsOver) {
  Gate gate;
  std::atomic<bool> has_run{false};
  HostStreamUnderTest blocker;
  HostEvent blocked, end;
  ASSERT_TRUE(blocker->enqueue([&] { return gate.pass(); }, {}).is_ok());
  ASSERT_TRUE(blocked.record(blocker.view()).is_ok());
  {
    HostStreamUnderTest stream(16, milliseconds(20));
    ASSERT_TRUE(blocked.wait(stream.view()).is_ok());
    ASSERT_TRUE(stream->enqueue([&] { return has_run = true, Status(); }, {}).is_ok());
    ASSERT_TRUE(end.record(stream.view()).is_ok());
  }
  EXPECT_FALSE(has_run);
  EXPECT_EQ(end.synchronize(patience()).code(), StatusCode::aborted);
  EXPECT_TRUE(end.is_done());
  gate.open();
}

TEST(StreamTest, DestructorLeavesAStuckTaskBehindAndReleasesItsWaiters) {
  Gate gate;
  HostEvent end;
  std::weak_ptr<StreamQueue> queue;
  const std::int64_t start_ns = now_ns();
  {
    HostStreamUnderTest stream(16, milliseconds(20));
    queue = stream.queue();
    ASSERT_TRUE(stream->enqueue([&] { return gate.pass(); }, {}).is_ok());
    ASSERT_TRUE(gate.wait_for_arrival());
    ASSERT_TRUE(end.record(stream.view()).is_ok());
  }
  EXPECT_LT(now_ns() - start_ns, 10'000'000'000);
  // Sooner than the gate gives up, which would end the task.
  EXPECT_EQ(end.synchronize(Deadline::after(std::chrono::seconds(5))).code(), StatusCode::aborted);
  EXPECT_TRUE(end.is_done());
  ASSERT_TRUE(end.record({}).is_ok());  // or it would keep the queue
  gate.open();
  EXPECT_TRUE(is_gone(queue));
}

TEST(StreamTest, MayBeDestroyedByItsOwnTask) {
  auto owner = std::make_unique<HostStreamUnderTest>();
  const auto queue = owner->queue();
  HostStreamUnderTest& stream = *owner;
  ASSERT_TRUE(
      stream->enqueue([owner = std::move(owner)]() mutable { return owner.reset(), Status(); }, {}).is_ok());
  EXPECT_TRUE(is_gone(queue));
}

TEST(StreamTest, ForkedChildsCopyIsPoisonedAndEndsWithoutAWorker) {
  Gate gate;
  HostStreamUnderTest stream(16, std::chrono::minutes(1));  // a child that drains is killed before
  HostEvent event;
  ASSERT_TRUE(stream->enqueue([&] { return gate.pass(); }, {}).is_ok());
  ASSERT_TRUE(event.record(stream.view()).is_ok());
  ASSERT_TRUE(gate.wait_for_arrival());
  EXPECT_EQ(exit_code_of_child([&] {
              if (stream->enqueue(nothing, {}).code() != StatusCode::aborted) return 1;
              if (stream->synchronize({}).code() != StatusCode::aborted) return 2;
              if (stream->status().code() != StatusCode::aborted) return 3;
              if (event.synchronize({}).code() != StatusCode::aborted || event.is_done()) return 4;
              stream.impl.reset();
              return 0;
            }),
            0);
  gate.open();
  EXPECT_TRUE(stream->synchronize(patience()).is_ok());
  EXPECT_TRUE(event.is_done());
}

}  // namespace
}  // namespace ringcomm
