// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/device/device.hpp"

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "core/try.hpp"
#include "device/copy_check.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/event.hpp"
#include "device/cuda/memory.hpp"
#include "device/cuda/stream.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/interop/cuda.hpp"

namespace ringcomm::inline v0 {
namespace cuda {
namespace {

class CudaDevice final : public Device {
 public:
  CudaDevice(int ordinal, std::unique_ptr<MemoryPool> pool) : ordinal_(ordinal), pool_(std::move(pool)) {}

  DeviceId id() const override { return {DeviceKind::cuda, static_cast<std::int8_t>(ordinal_)}; }

  Result<Stream> create_stream(const StreamOptions& options) override {
    RINGCOMM_TRY_ASSIGN(auto stream, CudaStream::create(ordinal_, nullptr, options));
    return Stream(std::move(stream));
  }

  Result<Event> create_event() override {
    RINGCOMM_TRY_ASSIGN(auto event, CudaEvent::create(ordinal_));
    return Event(std::move(event));
  }

  Result<std::shared_ptr<Segment>> allocate(const SegmentOptions& options) override {
    return pool_->allocate(options);
  }

  Status copy(void* target, const void* source, std::size_t bytes, StreamView stream) override {
    RINGCOMM_TRY(check_copy(target, source, bytes));
    if (bytes == 0) return {};
    const DeviceGuard guard(ordinal_);
    RINGCOMM_TRY(guard.status());
    if (!stream) {
      RINGCOMM_TRY(check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, cudaStreamPerThread),
                         concat("copy of ", bytes, " bytes")));
      return check(cudaStreamSynchronize(cudaStreamPerThread), concat("copy of ", bytes, " bytes"));
    }
    auto* const cuda = dynamic_cast<CudaStream*>(stream.impl);
    if (cuda == nullptr)
      return Status::invalid_argument("cuda: copy on a stream of another device (take one of this device)");
    RINGCOMM_TRY(cuda->status());
    return cuda->note(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, cuda->stream()),
                      concat("copy of ", bytes, " bytes"));
  }

 private:
  int ordinal_;
  std::unique_ptr<MemoryPool> pool_;
};

}  // namespace
}  // namespace cuda

Result<Device*> cuda_device(int ordinal) {
  static std::mutex mutex;
  // Never destroyed: at the process's end CUDA is gone before static objects are.
  static auto& devices = *new std::map<int, std::unique_ptr<cuda::CudaDevice>>;
  const std::lock_guard lock(mutex);
  const auto known = devices.find(ordinal);
  if (known != devices.end()) return known->second.get();
  int count = 0;
  RINGCOMM_TRY(cuda::check(cudaGetDeviceCount(&count), "no device"));
  if (ordinal < 0 || ordinal >= count || ordinal > 127)
    return Status::not_available(concat("cuda: no device ", ordinal, " (this process sees ", count, ")"));
  RINGCOMM_TRY_ASSIGN(auto pool, cuda::MemoryPool::create(ordinal));
  auto device = std::make_unique<cuda::CudaDevice>(ordinal, std::move(pool));
  return devices.emplace(ordinal, std::move(device)).first->second.get();
}

Result<Stream> from_cuda(cudaStream_t stream, int ordinal, const StreamOptions& options) {
  // The default streams have no address of their own; null would make a new one.
  const cudaStream_t borrowed = stream == nullptr ? cudaStreamLegacy : stream;
  RINGCOMM_TRY_ASSIGN(auto wrapped, cuda::CudaStream::create(ordinal, borrowed, options));
  return Stream(std::move(wrapped));
}

cudaStream_t to_cuda(StreamView stream) {
  auto* const cuda = dynamic_cast<cuda::CudaStream*>(stream.impl);
  return cuda == nullptr ? nullptr : cuda->stream();
}

}  // namespace ringcomm::inline v0
