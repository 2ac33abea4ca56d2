// SPDX-License-Identifier: Apache-2.0
// The elementwise k-way reduction: the one place where the elements of several ranks become one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ringcomm/core/descriptor.hpp"
#include "ringcomm/core/dtype.hpp"
#include "ringcomm/core/status.hpp"

namespace ringcomm::inline v0::collectives {

/// invalid_argument unless `op` is sum, max or min; not_available for the 8-bit floats, of which a sum has no
/// agreed meaning (their users scale first). `what` opens the message.
Status check_reducible(std::string_view what, DType dtype, ReduceOp op);

/// target = ((sources[0] op sources[1]) op sources[2]) ..., element by element: the bits of an element depend
/// on nothing but that element of the sources in this order, however the elements are cut into calls.
///
/// bfloat16 and float16 accumulate in float32 and round once. NaN stays NaN, also under max and min; a single
/// source is copied as it is. Integers wrap.
/// @param target   [count] elements, any alignment; may equal a source, else no overlap.
/// @param sources  at least one, [count] elements each, any alignment.
/// Cost: one pass over all sources.
void reduce_elements(DType dtype, ReduceOp op, std::byte* target, std::span<const std::byte* const> sources,
                     std::int64_t count);

}  // namespace ringcomm::inline v0::collectives
