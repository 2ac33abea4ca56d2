// SPDX-License-Identifier: Apache-2.0
// The host's stream: a queue and the one thread that empties it.
#pragma once

#include <chrono>
#include <memory>
#include <thread>

#include "device/host/stream_queue.hpp"
#include "ringcomm/device/stream.hpp"

namespace ringcomm::inline v0 {

class HostStream final : public StreamImpl {
 public:
  /// How long the destructor lets queued work finish before it drops the rest.
  static constexpr std::chrono::milliseconds kDrain{5000};

  static Result<std::unique_ptr<StreamImpl>> create(const StreamOptions& options,
                                                    std::chrono::milliseconds drain = kDrain);
  /// Takes at most the drain and kStopGrace. A task that does not come back by then keeps its thread and its
  /// queue (logged); the task must not use what dies with the stream's owner.
  ~HostStream() override;

  Status enqueue(Task task, Deadline deadline) override;
  Status synchronize(Deadline deadline) override;
  Status status() const override;
  void* native_handle() const override { return nullptr; }
  const std::shared_ptr<StreamQueue>& queue() const { return queue_; }

 private:
  HostStream(std::shared_ptr<StreamQueue> queue, std::chrono::milliseconds drain);
  Status check_process() const;

  std::shared_ptr<StreamQueue> queue_;
  std::unique_ptr<std::thread>
      thread_;  ///< leaked in a forked child, where joining and detaching are undefined
  std::chrono::milliseconds drain_;
  std::uint32_t fork_generation_;
};

}  // namespace ringcomm::inline v0
