// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU, from a pool of its own that keeps what was given back.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "ringcomm/device/segment.hpp"

namespace ringcomm::inline v0::cuda {

class MemoryPool {
 public:
  /// Without pools (old GPUs, some virtual ones) it allocates and frees each time.
  static Result<std::unique_ptr<MemoryPool>> create(int ordinal);
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// Zeroed. The pool outlives its segments.
  Result<std::shared_ptr<Segment>> allocate(const SegmentOptions& options);

 private:
  MemoryPool() = default;
  Status take(void** data, std::size_t bytes) const;
  int ordinal_ = 0;
  cudaMemPool_t pool_ = nullptr;
};

}  // namespace ringcomm::inline v0::cuda
