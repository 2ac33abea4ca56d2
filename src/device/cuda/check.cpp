// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/check.hpp"

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::cuda {
namespace {

StatusCode code_of(cudaError_t error) {
  switch (error) {
    case cudaErrorMemoryAllocation:
      return StatusCode::out_of_memory;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidResourceHandle:
      return StatusCode::invalid_argument;
    default:
      return StatusCode::not_available;
  }
}

}  // namespace

Status check(cudaError_t error, std::string_view what) {
  if (error == cudaSuccess) return {};
  return Status(code_of(error), concat("cuda: ", what, ": ", cudaGetErrorString(error)));
}

DeviceGuard::DeviceGuard(int ordinal) {
  static_cast<void>(cudaGetDevice(&before_));
  status_ = check(cudaSetDevice(ordinal), concat("device ", ordinal));
}

DeviceGuard::~DeviceGuard() {
  if (before_ >= 0) static_cast<void>(cudaSetDevice(before_));
}

}  // namespace ringcomm::inline v0::cuda
