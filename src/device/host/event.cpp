// SPDX-License-Identifier: Apache-2.0
#include "device/host/event.hpp"

#include <chrono>
#include <utility>

#include "core/try.hpp"
#include "device/host/fork_guard.hpp"
#include "device/host/stream.hpp"

namespace ringcomm::inline v0 {
namespace {

/// DESIGN's default for an operation: EventImpl::wait takes no deadline of its own.
constexpr std::chrono::minutes kWaitMax{10};

}  // namespace

HostEvent::HostEvent() : fork_generation_(fork_generation()) {}

Status HostEvent::Point::wait(Deadline deadline, const std::atomic<bool>* stop) const {
  return queue == nullptr ? Status() : queue->wait_for(position, deadline, stop);
}

Result<HostEvent::Point> HostEvent::recorded_point() const {
  if (fork_generation_ != fork_generation()) {
    return Status::aborted("event used in a forked child (its streams stayed in the parent)");
  }
  const std::lock_guard lock(mutex_);
  if (point_) return *point_;
  return Status::invalid_argument(
      "event waited for that nobody has recorded (there is no point to wait for)");
}

Status HostEvent::record(StreamView stream) {
  Point point;
  if (stream) {
    const auto* host = dynamic_cast<const HostStream*>(stream.impl);
    if (host == nullptr) {
      return Status::invalid_argument(
          "host event recorded on a stream of another device (take its own event)");
    }
    point = {host->queue(), host->queue()->position()};
  }
  if (fork_generation_ != fork_generation()) {
    return Status::aborted("event used in a forked child (its streams stayed in the parent)");
  }
  const std::lock_guard lock(mutex_);
  point_ = std::move(point);
  return {};
}

Status HostEvent::wait(StreamView stream) {
  if (!stream) return synchronize(Deadline::after(kWaitMax));
  RINGCOMM_TRY_ASSIGN(Point point, recorded_point());
  const auto* host = dynamic_cast<const HostStream*>(stream.impl);
  const std::atomic<bool>* stop = host == nullptr ? nullptr : &host->queue()->stop_flag();
  return stream.impl->enqueue([point = std::move(point), stop] { return point.wait({}, stop); },
                              Deadline::after(kWaitMax));
}

bool HostEvent::is_done() const {
  auto point = recorded_point();
  if (!point.is_ok()) return false;
  return point->queue == nullptr || point->queue->is_over(point->position);
}

Status HostEvent::synchronize(Deadline deadline) {
  RINGCOMM_TRY_ASSIGN(const Point point, recorded_point());
  return point.wait(deadline, nullptr);
}

}  // namespace ringcomm::inline v0
