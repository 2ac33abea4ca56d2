// SPDX-License-Identifier: Apache-2.0
// The bytes that a strided view can touch, for the checks that arguments do not overlap.
#pragma once

#include <cstdint>

#include "ringcomm/core/tensor_view.hpp"

namespace ringcomm::inline v0::collectives {

struct MemoryRange {
  std::uintptr_t first = 0;
  std::uintptr_t end = 0;  ///< equal to first when nothing is touched
  bool overlaps(const MemoryRange& other) const {
    return first < end && other.first < other.end && first < other.end && other.first < end;
  }
};

inline MemoryRange range_of(const TensorView& view) {
  const auto start = reinterpret_cast<std::uintptr_t>(view.data);
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (int axis = 0; axis < view.axes; ++axis) {
    const auto index = static_cast<std::size_t>(axis);
    if (view.shape[index] == 0) return {start, start};
    const std::int64_t reach = (view.shape[index] - 1) * view.strides[index];
    (reach < 0 ? low : high) += reach;
  }
  const auto size = static_cast<std::int64_t>(bytes_of(view.dtype));
  return {start + static_cast<std::uintptr_t>(low * size),
          start + static_cast<std::uintptr_t>((high + 1) * size)};
}

}  // namespace ringcomm::inline v0::collectives
