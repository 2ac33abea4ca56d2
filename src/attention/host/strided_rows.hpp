// SPDX-License-Identifier: Apache-2.0
// Addresses rows of [rows, heads, head_dim] tensor views.
#pragma once

#include "ringcomm/core/tensor_view.hpp"

namespace ringcomm::inline v0::attention::host {

/// First element of (row, head) in a view whose elements are T; the last axis is contiguous.
template <class T>
T* row_of(const TensorView& view, std::int64_t row, std::int64_t head) {
  return static_cast<T*>(view.data) + row * view.strides[0] + head * view.strides[1];
}

}  // namespace ringcomm::inline v0::attention::host
