// SPDX-License-Identifier: Apache-2.0
// A CUDA stream with host tasks in it.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <thread>

#include "device/cuda/task_queue.hpp"
#include "ringcomm/device/stream.hpp"

namespace ringcomm::inline v0::cuda {

/// A word in pinned memory that the GPU can wait for.
class HostWord {
 public:
  static Result<std::unique_ptr<HostWord>> create();
  ~HostWord();
  HostWord(const HostWord&) = delete;
  HostWord& operator=(const HostWord&) = delete;
  std::uint32_t* host() const { return host_; }
  CUdeviceptr device() const { return device_; }

 private:
  HostWord() = default;
  std::uint32_t* host_ = nullptr;
  CUdeviceptr device_ = 0;
};

class CudaStream final : public StreamImpl {
 public:
  /// Null makes a stream of its own, which does not wait for the default stream.
  static Result<std::unique_ptr<CudaStream>> create(int ordinal, cudaStream_t borrowed,
                                                    const StreamOptions& options);
  /// Lets queued work finish within some seconds. What then still runs on the GPU keeps the stream's memory.
  ~CudaStream() override;

  Status enqueue(Task task, Deadline deadline) override;
  Status synchronize(Deadline deadline) override;
  Status status() const override { return shared_->queue.status(); }
  void* native_handle() const override { return stream_; }

  int ordinal() const { return ordinal_; }
  cudaStream_t stream() const { return stream_; }
  /// What outlives the stream for those who wait through an event.
  struct Shared {
    explicit Shared(std::unique_ptr<HostWord> owned, std::size_t tasks_max)
        : word(std::move(owned)), queue(tasks_max, word->host()) {}
    std::unique_ptr<HostWord> word;
    TaskQueue queue;
  };
  const std::shared_ptr<Shared>& shared() const { return shared_; }
  /// An error of CUDA's own makes the stream's error sticky as well.
  Status note(cudaError_t error, std::string_view what);

 private:
  CudaStream() = default;
  int ordinal_ = 0;
  cudaStream_t stream_ = nullptr;
  bool is_owned_ = false;
  cudaEvent_t end_ = nullptr;  ///< recorded by synchronize()
  std::mutex mutex_;           ///< a task and its two marks in the stream belong together
  std::shared_ptr<Shared> shared_;
  std::thread worker_;
};

/// success once `event` is over; timeout names `what`.
Status wait_for_event(cudaEvent_t event, Deadline deadline, std::string_view what);

}  // namespace ringcomm::inline v0::cuda
