// SPDX-License-Identifier: Apache-2.0
// all_reduce and reduce_scatter: sum, max or min over ranks, in rank order.
#pragma once

#include <cstdint>
#include <span>

#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/core/descriptor.hpp"
#include "ringcomm/core/tensor_view.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Reduces all members' `input` elementwise; every member gets the whole result, the same bits on every rank.
///
/// Canonical order: ((rank 0 op rank 1) op rank 2) op ..., whatever the algorithm. bf16 and fp16 accumulate
/// in fp32 and round once; NaN stays NaN, also under max and min; integers wrap.
/// @param input   any shape and strides (packed once and counted unless contiguous in a window).
/// @param output  contiguous, same dtype and element count; may equal `input` (same pointer), else no
/// overlap.
/// @param op      sum, max or min.
/// Zero elements are legal. Errors: mismatch naming op, element count or dtype that differ between ranks;
/// invalid_argument. Cost: two rounds, 2(N-1)/N of the bytes; small inputs one round, (N-1) of them.
Result<Work> all_reduce(Channel& channel, const TensorView& input, const TensorView& output, ReduceOp op,
                        const CallOptions& options = {});

/// Reduces all members' `input` elementwise; member r gets elements [sum(counts[0..r)), + counts[r]).
///
/// @param input   [sum of counts], any strides.
/// @param output  [counts[own]], contiguous; may be that very place in `input`, else no overlap.
/// @param counts  [channel.size()], equal on all ranks; empty: output's count everywhere.
/// Order, types, errors as all_reduce. Cost: (N-1)/N of the bytes in one round.
Result<Work> reduce_scatter(Channel& channel, const TensorView& input, const TensorView& output, ReduceOp op,
                            std::span<const std::int64_t> counts = {}, const CallOptions& options = {});

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
