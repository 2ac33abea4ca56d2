// SPDX-License-Identifier: Apache-2.0
// Pointers and counts of C calls as the views that the library takes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "capi/border.hpp"
#include "core/try.hpp"
#include "ringcomm/core/descriptor.hpp"

namespace ringcomm::inline v0::capi {

/// The library only reads through the views it takes as input.
inline void* writable(const void* data) { return const_cast<void*>(data); }

/// `count` elements for each of `times` ranks, in a row.
inline Result<TensorView> flat(const void* data, std::size_t count, int times, int datatype) {
  RINGCOMM_TRY_ASSIGN(const DType dtype, dtype_of(datatype));
  std::int64_t elements = 0;
  if (__builtin_mul_overflow(count, times, &elements))
    return Status::invalid_argument(concat("count ", count, " for ", times, " ranks does not fit 63 bits"));
  return TensorView::contiguous(writable(data), dtype, {elements});
}

/// The caller's list of one count for each rank, with its sum.
struct Counts {
  std::vector<std::int64_t> list;
  std::int64_t sum = 0;
};
inline Result<Counts> read_counts(const std::int64_t* counts, int ranks, std::string_view what) {
  RINGCOMM_TRY(not_null(counts, what));
  Counts read{.list = {counts, counts + ranks}};
  for (std::size_t rank = 0; rank < read.list.size(); ++rank) {
    if (read.list[rank] >= 0 && !__builtin_add_overflow(read.sum, read.list[rank], &read.sum)) continue;
    return Status::invalid_argument(
        concat(what, "[", rank, "] is ", read.list[rank], " (negative, or the sum does not fit 63 bits)"));
  }
  return read;
}

inline Result<ReduceOp> reduce_op_of(int op) {
  if (op == ringcommSum) return ReduceOp::sum;
  if (op == ringcommMax) return ReduceOp::max;
  if (op == ringcommMin) return ReduceOp::min;
  return Status::invalid_argument(concat("op ", op, " is unknown (0 sum, 2 max and 3 min are offered)"));
}

}  // namespace ringcomm::inline v0::capi
