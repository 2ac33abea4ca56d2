// SPDX-License-Identifier: Apache-2.0
// CUDA streams and memory as ringcomm's: opt in, link ringcomm::cuda, and include the CUDA runtime's headers.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>

#include "ringcomm/device/device.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// GPU `ordinal` of this process (after CUDA_VISIBLE_DEVICES); lives as long as the process. Segments are
/// memory of this process (SegmentKind::local); tasks of its streams run on a host thread that each stream
/// has.
///
/// Errors: not_available with CUDA's own sentence when there is no driver, no such GPU, or no stream memory
/// operations.
Result<Device*> cuda_device(int ordinal);

/// A stream of the caller's, borrowed: what is queued through it is ordered with the caller's own kernels.
/// Destroy it before the stream. Pass `view()` where a StreamView is taken.
Result<Stream> from_cuda(cudaStream_t stream, int ordinal, const StreamOptions& options = {});

/// The way back: cudaStream_t of a CUDA stream, null for any other.
cudaStream_t to_cuda(StreamView stream);

/// Host memory that GPUs copy to and from at full speed and asynchronously.
Result<std::shared_ptr<Segment>> allocate_pinned_host(std::size_t bytes);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
