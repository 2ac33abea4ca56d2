// SPDX-License-Identifier: Apache-2.0
#include "device/host/stream.hpp"

#include <utility>

#include "core/try.hpp"
#include "device/host/fork_guard.hpp"
#include "device/host/thread.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

constexpr std::size_t kQueueTasksMax = std::size_t{1} << 20;
/// For a task that waits for another stream to notice that it should stop.
constexpr std::chrono::milliseconds kStopGrace{500};

}  // namespace

HostStream::HostStream(std::shared_ptr<StreamQueue> queue, std::chrono::milliseconds drain)
    : queue_(std::move(queue)), drain_(drain), fork_generation_(fork_generation()) {}

Result<std::unique_ptr<StreamImpl>> HostStream::create(const StreamOptions& options,
                                                       std::chrono::milliseconds drain) {
  if (options.queue_tasks_max == 0 || options.queue_tasks_max > kQueueTasksMax) {
    return Status::invalid_argument(concat("stream's queue of ", options.queue_tasks_max,
                                           " tasks (queue_tasks_max must be from 1 to ", kQueueTasksMax,
                                           ")"));
  }
  auto queue = std::make_shared<StreamQueue>(options.queue_tasks_max);
  std::unique_ptr<HostStream> stream(new HostStream(queue, drain));
  RINGCOMM_TRY_ASSIGN(auto thread, start_thread("rc-stream", options.placement, [queue] { queue->run(); }));
  stream->thread_ = std::make_unique<std::thread>(std::move(thread));
  return std::unique_ptr<StreamImpl>(std::move(stream));
}

HostStream::~HostStream() {
  if (thread_ == nullptr) return;
  if (fork_generation_ != fork_generation()) {
    static_cast<void>(thread_.release());
    return;
  }
  queue_->close();
  const bool is_own_task = queue_->is_worker();
  if (is_own_task || !queue_->wait_for_end(Deadline::after(drain_))) {
    queue_->drop(Status::aborted("stream was destroyed before its work ended"));
    if (is_own_task || !queue_->wait_for_end(Deadline::after(kStopGrace))) {
      log(LogLevel::warn, "stream destroyed while one of its tasks still runs: its thread is left behind");
      queue_->abandon();
      thread_->detach();
      return;
    }
    log(LogLevel::warn, concat("stream destroyed with work left after ", drain_.count(), " ms: dropped"));
  }
  thread_->join();
}

Status HostStream::check_process() const {
  if (fork_generation_ == fork_generation()) return {};
  return Status::aborted("stream used in a forked child (its worker stayed in the parent)");
}

Status HostStream::enqueue(Task task, Deadline deadline) {
  RINGCOMM_TRY(check_process());
  return queue_->enqueue(std::move(task), deadline);
}

Status HostStream::synchronize(Deadline deadline) {
  RINGCOMM_TRY(check_process());
  RINGCOMM_TRY(queue_->wait_for(queue_->position(), deadline, nullptr));
  return queue_->status();
}

Status HostStream::status() const {
  RINGCOMM_TRY(check_process());
  return queue_->status();
}

}  // namespace ringcomm::inline v0
