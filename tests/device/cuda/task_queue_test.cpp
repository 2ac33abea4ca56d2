// SPDX-License-Identifier: Apache-2.0
// The queue of host tasks behind a CUDA stream, without a GPU: the test plays the stream that says when a
// task is due and reads the word that a GPU would wait for.
#include "device/cuda/task_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "device/gate.hpp"

namespace ringcomm {
namespace {

using cuda::TaskQueue;

class TaskQueueTest : public testing::Test {
 protected:
  ~TaskQueueTest() override {
    queue.fail(Status::aborted("the test ends"));
    queue.close();
    worker.join();
  }
  std::uint32_t seen_by_gpu() { return std::atomic_ref<std::uint32_t>(word).load(std::memory_order_acquire); }
  bool reaches(std::uint32_t value) {
    const Deadline deadline = patience();
    while (seen_by_gpu() < value && !deadline.is_expired()) std::this_thread::yield();
    return seen_by_gpu() == value;
  }

  std::uint32_t word = 0;
  TaskQueue queue{4, &word};
  std::thread worker{[this] { queue.run(); }};
};

TEST_F(TaskQueueTest, TasksRunInOrderWhenTheyAreDueAndNotBefore) {
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) {
    const auto number = queue.push([&order, i] { return order.push_back(i), Status(); }, patience());
    ASSERT_TRUE(number.is_ok());
    EXPECT_EQ(number.value(), static_cast<std::uint64_t>(i) + 1);
  }
  std::this_thread::sleep_for(kWatched);
  EXPECT_EQ(seen_by_gpu(), 0U);
  queue.make_due();
  EXPECT_TRUE(reaches(1));
  std::this_thread::sleep_for(kWatched);
  EXPECT_EQ(seen_by_gpu(), 1U);
  queue.make_due();
  queue.make_due();
  EXPECT_TRUE(queue.wait_until_empty(patience()));
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(queue.position(), 3U);
}

TEST_F(TaskQueueTest, AFullQueueWaitsForRoomUntilTheDeadline) {
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(queue.push([] { return Status(); }, patience()).is_ok());
  EXPECT_EQ(queue.push([] { return Status(); }, Deadline::after(kWatched)).status().code(),
            StatusCode::timeout);
  std::jthread gpu([this] {
    std::this_thread::sleep_for(kWatched);
    queue.make_due();
  });
  EXPECT_TRUE(queue.push([] { return Status(); }, patience()).is_ok());
}

TEST_F(TaskQueueTest, AFailureCountsFromItsTaskOnAndTheGpuGoesOn) {
  bool has_run = false;
  EXPECT_TRUE(queue.push([] { return Status(); }, patience()).is_ok());
  EXPECT_TRUE(queue.push([] { return Status::peer_lost("rank 3 died"); }, patience()).is_ok());
  EXPECT_TRUE(queue.push([&] { return has_run = true, Status(); }, patience()).is_ok());
  for (int i = 0; i < 3; ++i) queue.make_due();
  EXPECT_TRUE(reaches(3));
  EXPECT_FALSE(has_run);
  EXPECT_EQ(queue.status().code(), StatusCode::peer_lost);
  EXPECT_TRUE(queue.status_at(1).is_ok());
  EXPECT_EQ(queue.status_at(2).code(), StatusCode::peer_lost);
  EXPECT_EQ(queue.push([] { return Status(); }, patience()).status().code(), StatusCode::peer_lost);
}

TEST_F(TaskQueueTest, WhatATaskHoldsIsGoneBeforeTheGpuGoesOn) {
  const auto held = std::make_shared<int>(0);
  EXPECT_TRUE(queue.push([held] { return Status(); }, patience()).is_ok());
  queue.make_due();
  EXPECT_TRUE(reaches(1));
  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(TaskQueueTest, FailDropsWhatHasNotRunAndLetsTheGpuGoOn) {
  const auto held = std::make_shared<int>(0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.push([held] { return Status(); }, patience()).is_ok());
  queue.fail(Status::aborted("the stream was destroyed"));
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(seen_by_gpu(), 3U);
  queue.make_due();  // the stream comes to the marks of dropped tasks
  EXPECT_TRUE(queue.wait_until_empty(patience()));
}

}  // namespace
}  // namespace ringcomm
