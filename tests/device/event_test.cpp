// SPDX-License-Identifier: Apache-2.0
// What only the host's event promises; order and errors between streams are in conformance/device_suite.hpp.
#include "device/host/event.hpp"

#include <gtest/gtest.h>

#include "device/gate.hpp"
#include "device/host/stream.hpp"

namespace ringcomm {
namespace {

/// A stream of some other device: it runs what it is given at once.
class ForeignStream final : public StreamImpl {
 public:
  Status enqueue(Task task, Deadline) override { return task(); }
  Status synchronize(Deadline) override { return {}; }
  Status status() const override { return {}; }
  void* native_handle() const override { return nullptr; }
};

TEST(EventTest, RecordedNowhereIsOverAtOnce) {
  HostEvent event;
  EXPECT_TRUE(event.record({}).is_ok());
  EXPECT_TRUE(event.is_done());
  EXPECT_TRUE(event.wait({}).is_ok());
}

TEST(EventTest, RefusesToBeRecordedOnAnotherDevicesStream) {
  HostEvent event;
  ForeignStream foreign;
  EXPECT_EQ(event.record({&foreign}).code(), StatusCode::invalid_argument);
  EXPECT_FALSE(event.is_done());
}

TEST(EventTest, AnotherDevicesStreamMayWaitForIt) {
  const auto stream = HostStream::create({}).value();
  HostEvent event;
  ForeignStream foreign;
  bool has_run = false;
  ASSERT_TRUE(stream->enqueue([&] { return has_run = true, Status(); }, {}).is_ok());
  ASSERT_TRUE(event.record({stream.get()}).is_ok());
  EXPECT_TRUE(event.wait({&foreign}).is_ok());
  EXPECT_TRUE(has_run);
}

TEST(EventTest, RecordNeedsNoRoomInAFullQueue) {
  Gate gate;
  const auto stream = HostStream::create({.placement = {}, .queue_tasks_max = 1}).value();
  HostEvent event;
  ASSERT_TRUE(stream->enqueue([&] { return gate.pass(); }, {}).is_ok());
  ASSERT_TRUE(gate.wait_for_arrival());
  ASSERT_TRUE(stream->enqueue([] { return Status(); }, {}).is_ok());
  EXPECT_TRUE(event.record({stream.get()}).is_ok());
  EXPECT_FALSE(event.is_done());
  gate.open();
  EXPECT_TRUE(event.synchronize(patience()).is_ok());
}

}  // namespace
}  // namespace ringcomm
