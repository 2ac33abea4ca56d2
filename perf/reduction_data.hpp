// SPDX-License-Identifier: Apache-2.0
// Inputs of reductions whose results are exact in every element type, whatever the order of the sum.
#pragma once

#include <algorithm>
#include <cstdint>

#include "elements.hpp"
#include "ringcomm/core/descriptor.hpp"

namespace ringcomm::perf {

/// 0 to 3, or 0 and 1 in one byte: sums over 64 ranks stay exact in bf16 (256) and int8 (127).
inline double reduction_value(DType type, int rank, std::int64_t index) {
  const std::uint64_t mixed = static_cast<std::uint64_t>(index) * 7 + static_cast<std::uint64_t>(rank) * 3 +
                              static_cast<std::uint64_t>(index >> 5);
  return static_cast<double>(mixed % (bytes_of(type) == 1 ? 2 : 4));
}

inline double reduction_result(DType type, ReduceOp op, int ranks, std::int64_t index) {
  double result = reduction_value(type, 0, index);
  for (int rank = 1; rank < ranks; ++rank) {
    const double value = reduction_value(type, rank, index);
    result = op == ReduceOp::max   ? std::max(result, value)
             : op == ReduceOp::min ? std::min(result, value)
                                   : result + value;
  }
  return result;
}

/// Elements [first, first + count) of `rank`'s input.
inline void fill_reduction(DType type, void* data, int rank, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    store_element(type, data, i, reduction_value(type, rank, first + i));
}

/// Elements of `data` that differ from results [first, first + count).
inline std::int64_t count_wrong_reduction(DType type, ReduceOp op, int ranks, const void* data,
                                          std::int64_t first, std::int64_t count) {
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i)
    wrong += load_element(type, data, i) == reduction_result(type, op, ranks, first + i) ? 0 : 1;
  return wrong;
}

}  // namespace ringcomm::perf
