// SPDX-License-Identifier: Apache-2.0
// barrier and all-gather, blocking and stream-ordered.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

#include "ringcomm/collectives/work.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/core/tensor_view.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// For every collective call.
struct CallOptions {
  std::chrono::milliseconds deadline{0};  ///< zero: the communicator's
  StreamView stream{};                    ///< empty: the call blocks and the Work it returns is finished
};

/// Returns once every member has called it. timeout lists the ranks that have not arrived.
Result<Work> barrier(Channel& channel, const CallOptions& options = {});

/// Gathers blocks of `counts[rank]` elements (zero is legal) into `output`, in rank order, on every member.
///
/// @param input   [counts[own]] elements, any strides (packed once and counted if not contiguous or not in a
/// window).
/// @param output  [sum of counts], contiguous, same dtype; may not overlap `input` unless it is the input's
/// own place.
/// @param counts  [channel.size()], equal on all ranks (else mismatch); empty means input's count everywhere.
/// Cost: direct_read transports copy each block once, (N-1)/N of the output; no staging from a window.
Result<Work> all_gather(Channel& channel, const TensorView& input, const TensorView& output,
                        std::span<const std::int64_t> counts = {}, const CallOptions& options = {});

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
