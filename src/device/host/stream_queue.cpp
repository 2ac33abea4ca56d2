// SPDX-License-Identifier: Apache-2.0
#include "device/host/stream_queue.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "device/host/spin.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

/// How soon a sleeping wait notices that its own stream is told to stop.
constexpr std::chrono::milliseconds kStopNoticed{20};

std::chrono::steady_clock::time_point time_point_of(Deadline deadline) {
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline.point_ns()));
}

/// A task is foreign code: what it throws must not end the process.
Status run_guarded(Task& task) {
  try {
    return task();
  } catch (const std::bad_alloc&) {
    return Status::out_of_memory("stream's task ran out of memory (std::bad_alloc)");
  } catch (const std::exception& error) {
    return Status::internal(concat("stream's task threw: ", error.what()));
  } catch (...) {
    return Status::internal("stream's task threw something that is no std::exception");
  }
}

}  // namespace

Status StreamQueue::enqueue(Task task, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto is_decided = [this] {
    return !status_.is_ok() || is_closed_ || enqueued_ - started_ < tasks_.size();
  };
  if (!is_decided() && is_worker()) {
    return Status::not_available(
        concat("stream's queue of ", tasks_.size(), " tasks is full (its own task cannot wait for room)"));
  }
  if (!room_.wait_until(lock, time_point_of(deadline), is_decided)) {
    return Status::timeout(concat("stream's queue of ", tasks_.size(),
                                  " tasks stayed full (its worker does not get on). Is a task stuck?"));
  }
  if (!status_.is_ok()) return status_;
  if (is_closed_) return Status::aborted("stream is being destroyed (it takes no more tasks)");
  tasks_[enqueued_ % tasks_.size()] = std::move(task);
  enqueued_.store(enqueued_ + 1, std::memory_order_release);
  work_.notify_one();  // under the lock: the task may end the stream as soon as it can run
  return {};
}

bool StreamQueue::is_over(std::uint64_t position) const {
  return completed_.load(std::memory_order_acquire) >= position ||
         is_abandoned_.load(std::memory_order_acquire);
}

Status StreamQueue::status_at(std::uint64_t position) const {
  return status_.is_ok() || failed_at_ >= position ? Status() : status_;
}

Status StreamQueue::wait_for(std::uint64_t position, Deadline deadline, const std::atomic<bool>* stop) {
  if (!is_over(position) && is_worker()) {
    return Status::invalid_argument("stream waits in its own task for that task's end (it could never come)");
  }
  spin_until([&] { return is_over(position); });
  std::unique_lock lock(mutex_);
  while (!is_over(position)) {
    if (stop != nullptr && stop->load(std::memory_order_acquire)) {
      return Status::aborted("stream was destroyed while it waited for another one");
    }
    if (deadline.is_expired()) {
      return Status::timeout(concat("stream has ended ", completed_.load(), " of ", position,
                                    " tasks (its worker does not get on). Is a task stuck?"));
    }
    wake_at_ = std::min(wake_at_, position);
    const auto slice = std::chrono::steady_clock::now() + kStopNoticed;
    ended_.wait_until(lock, std::min(slice, time_point_of(deadline)));
  }
  return status_at(position);
}

Status StreamQueue::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

bool StreamQueue::has_work() const {
  return is_closed_.load(std::memory_order_acquire) ||
         enqueued_.load(std::memory_order_acquire) != started_.load(std::memory_order_relaxed);
}

void StreamQueue::run() {
  worker_ = std::this_thread::get_id();
  while (true) {
    spin_until([this] { return has_work(); });
    std::unique_lock lock(mutex_);
    work_.wait(lock, [this] { return has_work(); });
    if (started_ == enqueued_) break;
    run_one(lock);
  }
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  ended_.notify_all();
}

void StreamQueue::run_one(std::unique_lock<std::mutex>& lock) {
  const std::uint64_t position = started_;
  Task task = std::move(tasks_[position % tasks_.size()]);
  const bool is_dropped = !status_.is_ok();
  started_ = position + 1;
  lock.unlock();
  room_.notify_one();
  const Status outcome = is_dropped ? Status() : run_guarded(task);
  task = Task();  // before it counts as ended: whoever waits for it may reuse what it held
  lock.lock();
  if (!outcome.is_ok()) fail(outcome, position);
  completed_.store(position + 1, std::memory_order_release);
  if (position + 1 < wake_at_) return;
  wake_at_ = kNobody;
  ended_.notify_all();
}

void StreamQueue::fail(const Status& status, std::uint64_t position) {
  if (!status_.is_ok()) return;
  status_ = status;
  failed_at_ = position;
  room_.notify_all();
}

void StreamQueue::close() {
  const std::lock_guard lock(mutex_);
  is_closed_.store(true, std::memory_order_release);
  work_.notify_one();
  room_.notify_all();
}

void StreamQueue::drop(const Status& reason) {
  const std::lock_guard lock(mutex_);
  fail(reason, completed_);
  is_stopping_.store(true, std::memory_order_release);
}

void StreamQueue::abandon() {
  const std::lock_guard lock(mutex_);
  is_abandoned_.store(true, std::memory_order_release);
  ended_.notify_all();
}

bool StreamQueue::wait_for_end(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return ended_.wait_until(lock, time_point_of(deadline), [this] { return has_ended_; });
}

}  // namespace ringcomm::inline v0
