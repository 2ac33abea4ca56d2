// SPDX-License-Identifier: Apache-2.0
// Ordered queues of work and the events that order two of them, on any device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/placement.hpp"
#include "ringcomm/core/result.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// A unit of host work: a callable returning Status, stored inline so that enqueueing never allocates.
class Task {
 public:
  static constexpr std::size_t kBytesMax = 96;

  Task() = default;
  template <class F>
  requires(!std::is_same_v<std::decay_t<F>, Task>)
      Task(F&& function) {  // NOLINT(google-explicit-constructor,bugprone-forwarding-reference-overload)
    using Stored = std::decay_t<F>;
    static_assert(sizeof(Stored) <= kBytesMax, "capture a pointer to the state instead");
    static_assert(std::is_nothrow_move_constructible_v<Stored>);
    new (storage_) Stored(std::forward<F>(function));
    run_ = [](void* self) -> Status { return (*static_cast<Stored*>(self))(); };
    relocate_ = [](void* from, void* to) noexcept {
      if (to != nullptr) new (to) Stored(std::move(*static_cast<Stored*>(from)));
      static_cast<Stored*>(from)->~Stored();
    };
  }
  Task(Task&& other) noexcept { take(other); }
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~Task() { reset(); }

  explicit operator bool() const { return run_ != nullptr; }
  Status operator()() { return run_(storage_); }

 private:
  void take(Task& other) noexcept {
    if (other.run_ == nullptr) return;
    other.relocate_(other.storage_, storage_);
    run_ = std::exchange(other.run_, nullptr);
    relocate_ = other.relocate_;
  }
  void reset() noexcept {
    if (std::exchange(run_, nullptr) != nullptr) relocate_(storage_, nullptr);
  }
  alignas(std::max_align_t) std::byte storage_[kBytesMax];
  Status (*run_)(void*) = nullptr;
  void (*relocate_)(void*, void*) noexcept = nullptr;
};

/// What a device implements for a stream. Users hold Stream and StreamView.
class StreamImpl {
 public:
  virtual ~StreamImpl() = default;
  /// Queues `task` behind everything queued before. On a full queue it waits for room, at most until the
  /// deadline. A task that fails makes the stream's error sticky: later tasks are dropped and this returns
  /// that error.
  virtual Status enqueue(Task task, Deadline deadline) = 0;
  /// Waits until everything queued so far has run; returns the sticky error.
  virtual Status synchronize(Deadline deadline) = 0;
  virtual Status status() const = 0;
  /// The vendor's handle (cudaStream_t); null on the host.
  virtual void* native_handle() const = 0;
};

/// A trivial handle, passed last to stream-ordered calls. Empty: the call runs in the caller and blocks.
struct StreamView {
  StreamImpl* impl = nullptr;
  explicit operator bool() const { return impl != nullptr; }
};

/// Owns a stream; the destructor lets queued work finish within a bounded time, then drops the rest.
class Stream {
 public:
  explicit Stream(std::unique_ptr<StreamImpl> impl) : impl_(std::move(impl)) {}
  StreamView view() const { return {impl_.get()}; }
  Status enqueue(Task task, Deadline deadline = {}) { return impl_->enqueue(std::move(task), deadline); }
  Status synchronize(Deadline deadline = {}) { return impl_->synchronize(deadline); }
  Status status() const { return impl_->status(); }

 private:
  std::unique_ptr<StreamImpl> impl_;
};

class EventImpl {
 public:
  virtual ~EventImpl() = default;
  virtual Status record(StreamView stream) = 0;
  virtual Status wait(StreamView stream) = 0;
  virtual bool is_done() const = 0;
  virtual Status synchronize(Deadline deadline) = 0;
};

/// A point in a stream. record() again moves it; a wait() counts for the last record() that was called before
/// it.
class Event {
 public:
  explicit Event(std::unique_ptr<EventImpl> impl) : impl_(std::move(impl)) {}
  /// Marks the point after everything queued on `stream` so far.
  Status record(StreamView stream) { return impl_->record(stream); }
  /// Makes later work of `stream` wait for the point; an empty view blocks the caller. invalid_argument when
  /// nobody has recorded the event yet. If the recording stream failed, the waiting one fails with the same
  /// Status.
  Status wait(StreamView stream) { return impl_->wait(stream); }
  bool is_done() const { return impl_->is_done(); }
  Status synchronize(Deadline deadline = {}) { return impl_->synchronize(deadline); }

 private:
  std::unique_ptr<EventImpl> impl_;
};

struct StreamOptions {
  Placement placement{};               ///< where the host worker runs
  std::size_t queue_tasks_max = 1024;  ///< allocated once
  int priority = 0;                    ///< higher first, on devices that have priorities; the host has none
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
