// SPDX-License-Identifier: Apache-2.0
// CUDA's error codes as Status, and which GPU is meant while calling it.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "ringcomm/core/status.hpp"

namespace ringcomm::inline v0::cuda {

/// ok, or "cuda: <what>: <CUDA's sentence>".
Status check(cudaError_t error, std::string_view what);

/// Makes `ordinal` current for this thread and puts back what was.
class DeviceGuard {
 public:
  explicit DeviceGuard(int ordinal);
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  const Status& status() const { return status_; }

 private:
  int before_ = -1;
  Status status_;
};

}  // namespace ringcomm::inline v0::cuda
