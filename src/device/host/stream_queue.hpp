// SPDX-License-Identifier: Apache-2.0
// The ordered queue behind a host stream: shared by its users, its worker and every event recorded on it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "ringcomm/core/deadline.hpp"
#include "ringcomm/device/stream.hpp"

namespace ringcomm::inline v0 {

/// A bounded ring of tasks, allocated once. Positions count tasks since the start, so that an event is only a
/// position: nothing is queued for it and it needs no room.
class StreamQueue {
 public:
  explicit StreamQueue(std::size_t tasks_max) : tasks_(tasks_max) {}

  Status enqueue(Task task, Deadline deadline);
  /// The number of tasks queued so far: the point that an event marks.
  std::uint64_t position() const { return enqueued_.load(std::memory_order_acquire); }
  /// Whether the first `position` tasks have ended, or nobody can wait for them any more (abandon()).
  bool is_over(std::uint64_t position) const;
  /// Waits until then. The stream's error if one of these tasks failed; `stop` (may be null) ends the wait
  /// early, noticed within kStopNoticed.
  Status wait_for(std::uint64_t position, Deadline deadline, const std::atomic<bool>* stop);
  Status status() const;

  /// The worker's life: runs tasks in order until close() and everything queued has ended.
  void run();
  /// Takes no more tasks.
  void close();
  /// Drops what has not started and stops the task's own wait for another stream: the stream fails with
  /// `reason`, unless it has failed before.
  void drop(const Status& reason);
  /// After drop(), when the running task does not come back: releases whoever waits for it, with the error.
  void abandon();
  /// Whether run() has returned by the deadline.
  bool wait_for_end(Deadline deadline);
  const std::atomic<bool>& stop_flag() const { return is_stopping_; }
  bool is_worker() const { return worker_.load(std::memory_order_relaxed) == std::this_thread::get_id(); }

 private:
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0};
  bool has_work() const;
  void run_one(std::unique_lock<std::mutex>& lock);
  void fail(const Status& status, std::uint64_t position);
  Status status_at(std::uint64_t position) const;

  mutable std::mutex mutex_;
  std::condition_variable work_, room_, ended_;
  std::vector<Task> tasks_;
  std::atomic<std::uint64_t> enqueued_{0}, started_{0}, completed_{0};  ///< written under the mutex
  std::atomic<bool> is_closed_{false}, is_stopping_{false}, is_abandoned_{false};
  std::atomic<std::thread::id> worker_{};
  std::uint64_t wake_at_ = kNobody;  ///< the first position that a sleeper waits for
  bool has_ended_ = false;
  Status status_;
  std::uint64_t failed_at_ = 0;  ///< position of the failing task; counts only with status_
};

}  // namespace ringcomm::inline v0
