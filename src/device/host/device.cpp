// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/device/device.hpp"

#include <chrono>
#include <memory>
#include <utility>

#include "core/try.hpp"
#include "device/copy_check.hpp"
#include "device/host/event.hpp"
#include "device/host/nontemporal_copy.hpp"
#include "device/host/stream.hpp"

namespace ringcomm::inline v0 {
namespace {

/// DESIGN's default for an operation: how long a copy waits for room in the stream's queue.
constexpr std::chrono::minutes kEnqueueMax{10};

class HostDevice final : public Device {
 public:
  DeviceId id() const override { return {}; }

  Result<Stream> create_stream(const StreamOptions& options) override {
    RINGCOMM_TRY_ASSIGN(auto stream, HostStream::create(options));
    return Stream(std::move(stream));
  }

  Result<Event> create_event() override { return Event(std::make_unique<HostEvent>()); }

  Result<std::shared_ptr<Segment>> allocate(const SegmentOptions& options) override {
    return Segment::create(options);
  }

  Status copy(void* target, const void* source, std::size_t bytes, StreamView stream) override {
    RINGCOMM_TRY(check_copy(target, source, bytes));
    const auto copy_now = [=]() -> Status {
      copy_block(target, source, bytes);
      return {};
    };
    return stream ? stream.impl->enqueue(copy_now, Deadline::after(kEnqueueMax)) : copy_now();
  }
};

}  // namespace

Device& host_device() {
  static HostDevice device;
  return device;
}

}  // namespace ringcomm::inline v0
