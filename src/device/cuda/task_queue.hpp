// SPDX-License-Identifier: Apache-2.0
// Host tasks that a GPU stream waits for. The GPU says when a task is due, a worker of the stream runs it and
// says so in a word that the GPU waits for. CUDA's own host functions would not do: the driver may run those
// of all streams in one thread, so that a task that waits for another stream would stop that stream. Knows
// nothing of CUDA.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include "ringcomm/device/stream.hpp"

namespace ringcomm::inline v0::cuda {

class TaskQueue {
 public:
  /// `word` is written with the number of tasks that are over; it outlives the queue's use of it.
  TaskQueue(std::size_t tasks_max, std::uint32_t* word) : tasks_max_(tasks_max), word_(word) {}

  /// The task's number, from 1. Waits for room; the sticky error when there is one.
  Result<std::uint64_t> push(Task task, Deadline deadline);
  /// The GPU has come to the next task. Never blocks for long.
  void make_due();
  /// The worker: returns after close() once everything due has run.
  void run();
  void close();
  /// From now on nothing runs: tasks are dropped, and the GPU is let go on.
  void fail(Status reason);

  /// Tasks pushed so far.
  std::uint64_t position() const;
  Status status() const;
  /// The error of one of the first `position` tasks, if it came from there.
  Status status_at(std::uint64_t position) const;
  /// False when the deadline passes before all tasks pushed are over.
  bool wait_until_empty(Deadline deadline);

 private:
  void end_task(Status outcome);
  void write_word();

  const std::size_t tasks_max_;
  std::uint32_t* const word_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::uint64_t pushed_ = 0, due_ = 0, over_ = 0;
  std::uint64_t failed_at_ = 0;  ///< number of the task that failed first
  Status failure_;
  bool is_closed_ = false;
};

}  // namespace ringcomm::inline v0::cuda
