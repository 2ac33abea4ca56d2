// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/event.hpp"

#include <chrono>
#include <utility>

#include "core/try.hpp"
#include "device/cuda/check.hpp"

namespace ringcomm::inline v0::cuda {
namespace {

/// DESIGN's default for an operation: EventImpl::wait takes no deadline of its own.
constexpr std::chrono::minutes kWaitMax{10};

}  // namespace

Result<std::unique_ptr<CudaEvent>> CudaEvent::create(int ordinal) {
  const DeviceGuard guard(ordinal);
  RINGCOMM_TRY(guard.status());
  std::unique_ptr<CudaEvent> event(new CudaEvent());
  event->ordinal_ = ordinal;
  RINGCOMM_TRY(check(cudaEventCreateWithFlags(&event->event_, cudaEventDisableTiming), "no event"));
  return event;
}

CudaEvent::~CudaEvent() {
  if (event_ != nullptr) static_cast<void>(cudaEventDestroy(event_));
}

Result<CudaEvent::Point> CudaEvent::recorded_point() const {
  const std::lock_guard lock(mutex_);
  if (point_.is_recorded) return point_;
  return Status::invalid_argument(
      "event waited for that nobody has recorded (there is no point to wait for)");
}

Status CudaEvent::record(StreamView stream) {
  const std::lock_guard lock(mutex_);
  if (!stream) {
    point_ = {.is_recorded = true, .stream = nullptr, .position = 0};
    return {};
  }
  auto* const cuda = dynamic_cast<CudaStream*>(stream.impl);
  if (cuda == nullptr) {
    return Status::invalid_argument("cuda event recorded on a stream of another device (take its own event)");
  }
  const DeviceGuard guard(cuda->ordinal());
  RINGCOMM_TRY(guard.status());
  const std::uint64_t position = cuda->shared()->queue.position();
  RINGCOMM_TRY(cuda->note(cudaEventRecord(event_, cuda->stream()), "recording an event"));
  point_ = {.is_recorded = true, .stream = cuda->shared(), .position = position};
  return {};
}

Status CudaEvent::wait(StreamView stream) {
  if (!stream) return synchronize(Deadline::after(kWaitMax));
  RINGCOMM_TRY_ASSIGN(const Point point, recorded_point());
  if (point.stream == nullptr) return {};
  auto* const cuda = dynamic_cast<CudaStream*>(stream.impl);
  if (cuda == nullptr) {
    return Status::invalid_argument(
        "a stream of another device cannot wait for a cuda event (wait on the host)");
  }
  const DeviceGuard guard(cuda->ordinal());
  RINGCOMM_TRY(guard.status());
  RINGCOMM_TRY(
      cuda->note(cudaStreamWaitEvent(cuda->stream(), event_, cudaEventWaitDefault), "waiting for an event"));
  if (point.position == 0) return {};  // no task, so none that could have failed
  return cuda->enqueue([point] { return point.stream->queue.status_at(point.position); },
                       Deadline::after(kWaitMax));
}

bool CudaEvent::is_done() const {
  const auto point = recorded_point();
  if (!point.is_ok()) return false;
  return point.value().stream == nullptr || cudaEventQuery(event_) != cudaErrorNotReady;
}

Status CudaEvent::synchronize(Deadline deadline) {
  RINGCOMM_TRY_ASSIGN(const Point point, recorded_point());
  if (point.stream == nullptr) return {};
  const DeviceGuard guard(ordinal_);
  RINGCOMM_TRY(guard.status());
  RINGCOMM_TRY(wait_for_event(event_, deadline, "event"));
  return point.stream->queue.status_at(point.position);
}

}  // namespace ringcomm::inline v0::cuda
