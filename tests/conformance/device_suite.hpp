// SPDX-License-Identifier: Apache-2.0
// What every device must do (its events: device_event_suite.hpp). The oracle for order is a plain vector that
// only ordered tasks may touch; gates show that work does not get past a point, bounded waits that it does.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "conformance/device_event_suite.hpp"
#include "conformance/device_fixture.hpp"

namespace ringcomm {

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

TEST_P(DeviceSuite, DestructorLetsQueuedWorkFinish) {
  int runs = 0;
  {
    Stream stream = this->stream();
    for (int i = 0; i < 100; ++i) EXPECT_OK(stream.enqueue([&runs] { return ++runs, Status(); }));
  }
  EXPECT_EQ(runs, 100);
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
