// SPDX-License-Identifier: Apache-2.0
// The row kernel of the k-way softmax merge: plain pointers and strides, so that collectives slice it by
// rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ringcomm/collectives/softmax_stats.hpp"

namespace ringcomm::inline v0::collectives {

/// Where one partial's rows lie. Elements of a row are neighbours.
struct PartialRows {
  std::byte* out = nullptr;
  DType dtype = DType::float32;
  std::int64_t out_stride = 0;  ///< elements from row to row
  float* statistic = nullptr;   ///< lse, or m with l behind it
  std::int64_t statistic_stride = 1;
  std::int64_t pair_stride = 1;  ///< floats from m to l
};

struct MergeKind {
  PartialForm form = PartialForm::normalised;
  LogBase base = LogBase::e;
};

/// What merge_rows() needs beside its arguments; made once, so that calls allocate nothing.
struct MergeScratch {
  explicit MergeScratch(std::size_t sources)
      : weights(sources * 16), live_weights(sources + 1), live_outs(sources + 1), live_types(sources + 1) {}
  std::vector<float> weights;  ///< [sources][kMergeLanes]
  std::vector<float> live_weights;
  std::vector<const std::byte*> live_outs;
  std::vector<DType> live_types;
};

/// Merges rows [first, first + count) of `sources`, in their order, into the same rows of `target`. The bits
/// of a row depend on nothing but that row of the sources: any slicing, and any CPU, gives the same.
///
/// `target` may equal a source (same pointers, strides and dtype); other overlaps are the caller's error.
/// @param scratch  made for at least sources.size().
/// Cost: one pass over the rows; a source row of weight zero is not read (between others it is prefetched).
void merge_rows(MergeKind kind, std::int64_t dim, const PartialRows& target,
                std::span<const PartialRows> sources, std::int64_t first, std::int64_t count,
                MergeScratch& scratch, MergeStores stores = MergeStores::cached);

struct MergeKernels;
/// With the kernels of one instruction level (merge_kernels.hpp).
void merge_rows(MergeKind kind, std::int64_t dim, const PartialRows& target,
                std::span<const PartialRows> sources, std::int64_t first, std::int64_t count,
                MergeScratch& scratch, MergeStores stores, const MergeKernels& kernels);

/// invalid_argument unless shapes, types and strides are what a merge takes; `what` opens the message.
Status check_partial(const SoftmaxPartial& partial, std::string_view what);
/// invalid_argument unless `other` has the form, base, rows and dim of `partial`.
Status check_same(const SoftmaxPartial& partial, std::string_view what, const SoftmaxPartial& other,
                  std::string_view other_what);
/// invalid_argument unless `a` and `b` are disjoint in memory, or the very same rows.
Status check_aliasing(const SoftmaxPartial& a, std::string_view what, const SoftmaxPartial& b,
                      std::string_view other_what);

PartialRows rows_of(const SoftmaxPartial& partial);
inline std::int64_t statistics_per_row(PartialForm form) { return form == PartialForm::normalised ? 1 : 2; }

/// The rows from `rows` on.
PartialRows advanced(const PartialRows& from, std::int64_t rows);
/// `count` rows of out and (unless the source has none: null) statistics; equal types, no overlap.
void copy_rows(const PartialRows& source, const PartialRows& target, std::int64_t count, std::int64_t dim,
               PartialForm form, MergeStores stores = MergeStores::cached);

/// Bytes of one row in a block of partials: the row of `out`, rounded up to four bytes, and its statistics.
std::uint64_t softmax_row_bytes(std::int64_t dim, DType dtype, PartialForm form);
/// A block of `rows` rows at `block`: all of out, then, from byte rows * (row of out rounded up), the
/// statistics.
PartialRows rows_in_block(std::byte* block, std::int64_t rows, std::int64_t dim, DType dtype,
                          PartialForm form);

/// The same block as a partial.
SoftmaxPartial partial_at(std::byte* block, std::int64_t rows, std::int64_t dim, DType dtype, MergeKind kind);

}  // namespace ringcomm::inline v0::collectives
