// SPDX-License-Identifier: Apache-2.0
// What the parts of the device suite share: the device under test and how its memory is reached.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
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

}  // namespace ringcomm
