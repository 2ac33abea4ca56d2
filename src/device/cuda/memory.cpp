// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/memory.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/try.hpp"
#include "device/cuda/check.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/interop/cuda.hpp"

namespace ringcomm::inline v0 {
namespace cuda {

Result<std::unique_ptr<MemoryPool>> MemoryPool::create(int ordinal) {
  std::unique_ptr<MemoryPool> memory(new MemoryPool());
  memory->ordinal_ = ordinal;
  int has_pools = 0;
  RINGCOMM_TRY(check(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, ordinal),
                     "asking for pools"));
  if (has_pools == 0) return memory;
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.handleTypes = cudaMemHandleTypeNone;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = ordinal;
  RINGCOMM_TRY(check(cudaMemPoolCreate(&memory->pool_, &properties), "no memory pool"));
  std::uint64_t kept = std::numeric_limits<std::uint64_t>::max();
  RINGCOMM_TRY(check(cudaMemPoolSetAttribute(memory->pool_, cudaMemPoolAttrReleaseThreshold, &kept),
                     "setting up a memory pool"));
  return memory;
}

MemoryPool::~MemoryPool() {
  if (pool_ != nullptr) static_cast<void>(cudaMemPoolDestroy(pool_));
}

Status MemoryPool::take(void** data, std::size_t bytes) const {
  const std::string what = concat(format_bytes(bytes), " on device ", ordinal_);
  if (pool_ == nullptr) return check(cudaMalloc(data, bytes), what);
  RINGCOMM_TRY(check(cudaMallocFromPoolAsync(data, bytes, pool_, cudaStreamPerThread), what));
  return check(cudaStreamSynchronize(cudaStreamPerThread), what);
}

Result<std::shared_ptr<Segment>> MemoryPool::allocate(const SegmentOptions& options) {
  if (options.kind != SegmentKind::local) {
    return Status::not_available(
        "cuda: memory of a GPU is not shared with other processes yet (ask for SegmentKind::local)");
  }
  const DeviceGuard guard(ordinal_);
  RINGCOMM_TRY(guard.status());
  const std::size_t bytes = std::max<std::size_t>(options.bytes, 1);
  void* data = nullptr;
  RINGCOMM_TRY(take(&data, bytes));
  auto segment = Segment::adopt(
      static_cast<std::byte*>(data), bytes, [data, ordinal = ordinal_, is_pooled = pool_ != nullptr] {
        const DeviceGuard releasing(ordinal);
        // The stream of a synchronous free orders it behind everything that used the memory.
        static_cast<void>(is_pooled ? cudaFreeAsync(data, cudaStreamPerThread) : cudaFree(data));
      });
  RINGCOMM_TRY(check(cudaMemsetAsync(data, 0, bytes, cudaStreamPerThread), "filling with zeros"));
  RINGCOMM_TRY(check(cudaStreamSynchronize(cudaStreamPerThread), "filling with zeros"));
  return segment;
}

}  // namespace cuda

Result<std::shared_ptr<Segment>> allocate_pinned_host(std::size_t bytes) {
  void* data = nullptr;
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  RINGCOMM_TRY(cuda::check(cudaHostAlloc(&data, size, cudaHostAllocPortable),
                           concat("pinning ", format_bytes(size), " of host memory")));
  return Segment::adopt(static_cast<std::byte*>(data), size,
                        [data] { static_cast<void>(cudaFreeHost(data)); });
}

}  // namespace ringcomm::inline v0
