// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/task_queue.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::cuda {
namespace {

/// Deadlines that never expire would overflow the clock.
std::chrono::nanoseconds bounded(Deadline deadline) {
  return std::chrono::nanoseconds(std::min<std::int64_t>(deadline.remaining_ns(), 3'600'000'000'000));
}

}  // namespace

Result<std::uint64_t> TaskQueue::push(Task task, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto has_room = [this] { return !failure_.is_ok() || pushed_ - over_ < tasks_max_; };
  while (!has_room()) {
    changed_.wait_for(lock, bounded(deadline), has_room);
    if (!has_room() && deadline.is_expired())
      return Status::timeout(concat("stream's queue of ", tasks_max_, " tasks stayed full"));
  }
  if (!failure_.is_ok()) return failure_;
  tasks_.push_back(std::move(task));
  return ++pushed_;
}

void TaskQueue::make_due() {
  const std::lock_guard lock(mutex_);
  ++due_;
  changed_.notify_all();
}

/// Under the lock. A GPU reads it: release, so that what the task wrote is there before it.
void TaskQueue::write_word() {
  std::atomic_ref<std::uint32_t>(*word_).store(static_cast<std::uint32_t>(over_), std::memory_order_release);
}

void TaskQueue::end_task(Status outcome) {
  const std::lock_guard lock(mutex_);
  ++over_;
  if (!outcome.is_ok() && failure_.is_ok()) {
    failure_ = std::move(outcome);
    failed_at_ = over_;
  }
  write_word();
  changed_.notify_all();
}

void TaskQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_closed_ || (over_ < due_ && !tasks_.empty()); });
    if (tasks_.empty() || over_ >= due_) return;  // closed
    Status outcome;
    {
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      const bool is_dropped = !failure_.is_ok();
      lock.unlock();
      if (!is_dropped) outcome = task();
    }  // what it held is gone before anybody hears that it is over
    end_task(std::move(outcome));
    lock.lock();
  }
}

void TaskQueue::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  changed_.notify_all();
}

void TaskQueue::fail(Status reason) {
  std::deque<Task> dropped;
  {
    const std::lock_guard lock(mutex_);
    if (failure_.is_ok()) {
      failure_ = std::move(reason);
      failed_at_ = over_ + 1;
    }
    dropped.swap(tasks_);
    over_ += dropped.size();
    write_word();
    changed_.notify_all();
  }
}

std::uint64_t TaskQueue::position() const {
  const std::lock_guard lock(mutex_);
  return pushed_;
}

Status TaskQueue::status() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

Status TaskQueue::status_at(std::uint64_t position) const {
  const std::lock_guard lock(mutex_);
  return failure_.is_ok() || failed_at_ > position ? Status() : failure_;
}

bool TaskQueue::wait_until_empty(Deadline deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, bounded(deadline), [this] { return over_ == pushed_; });
}

}  // namespace ringcomm::inline v0::cuda
