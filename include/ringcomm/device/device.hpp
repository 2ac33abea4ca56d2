// SPDX-License-Identifier: Apache-2.0
// What a kind of device offers: the interface that the host implements and that CUDA can implement.
#pragma once

#include <memory>

#include "ringcomm/device/segment.hpp"
#include "ringcomm/device/stream.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceId id() const = 0;
  virtual Result<Stream> create_stream(const StreamOptions& options) = 0;
  virtual Result<Event> create_event() = 0;
  virtual Result<std::shared_ptr<Segment>> allocate(const SegmentOptions& options) = 0;
  /// Stream-ordered copy inside the device; with an empty view it blocks.
  virtual Status copy(void* target, const void* source, std::size_t bytes, StreamView stream) = 0;
};

/// The host as a device; lives as long as the process.
Device& host_device();

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
