// SPDX-License-Identifier: Apache-2.0
// The one path by which strided or private memory becomes a contiguous block.
#pragma once

#include <cstddef>

#include "ringcomm/core/tensor_view.hpp"

namespace ringcomm::inline v0::collectives {

/// Copies the elements of `source`, row-major, to `target` [source.bytes()]; no overlap.
void pack(const TensorView& source, std::byte* target);
/// The way back: `target` is written from `source` [target.bytes()].
void unpack(const std::byte* source, const TensorView& target);

}  // namespace ringcomm::inline v0::collectives
