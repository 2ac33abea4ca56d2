// SPDX-License-Identifier: Apache-2.0
// A CUDA event that refuses what CUDA passes in silence, and carries the error of the stream it was recorded
// on.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>

#include "device/cuda/stream.hpp"
#include "ringcomm/device/stream.hpp"

namespace ringcomm::inline v0::cuda {

class CudaEvent final : public EventImpl {
 public:
  static Result<std::unique_ptr<CudaEvent>> create(int ordinal);
  ~CudaEvent() override;

  /// An empty view marks a point that is over already.
  Status record(StreamView stream) override;
  Status wait(StreamView stream) override;
  bool is_done() const override;
  Status synchronize(Deadline deadline) override;

 private:
  /// Whose tasks count: those before `position` of the stream that recorded last.
  struct Point {
    bool is_recorded = false;
    std::shared_ptr<CudaStream::Shared> stream;  ///< null: over from the start
    std::uint64_t position = 0;
  };
  CudaEvent() = default;
  Result<Point> recorded_point() const;
  int ordinal_ = 0;
  cudaEvent_t event_ = nullptr;
  mutable std::mutex mutex_;
  Point point_;
};

}  // namespace ringcomm::inline v0::cuda
