// SPDX-License-Identifier: Apache-2.0
// Softmax partials that anyone can compute again, and their merge in double precision.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ringcomm/collectives/softmax_stats.hpp"

namespace ringcomm::perf {

class SoftmaxData {
 public:
  SoftmaxData() = default;
  SoftmaxData(int ranks, std::int64_t dim, DType dtype, PartialForm form)
      : ranks_(ranks), dim_(dim), dtype_(dtype), form_(form) {}

  /// One row's payload and statistics.
  std::size_t row_bytes() const;
  std::size_t bytes_of_rows(std::int64_t rows) const;
  /// Views of `block` as SoftmaxPartial::in() would lay it out.
  SoftmaxPartial view(std::byte* block, std::int64_t rows) const;
  /// `rank`'s input. Every seventh row saw no key: its payload is NaN and must not be read.
  void fill(const SoftmaxPartial& partial, int rank) const;
  /// Elements (dim payloads and one statistic) of row `local` of `result`, the merge of all ranks' row
  /// `row`, that are further from the merge in double than one rounding of the payload type (docs/perf.md).
  std::int64_t count_wrong(const SoftmaxPartial& result, std::int64_t local, std::int64_t row) const;

 private:
  struct RowValues {
    float lse;
    bool is_empty;
  };
  static RowValues values_of(int rank, std::int64_t row);
  static float payload(int rank, std::int64_t index);

  int ranks_ = 1;
  std::int64_t dim_ = 128;
  DType dtype_ = DType::float32;
  PartialForm form_ = PartialForm::normalised;
};

/// FNV-1a of the bytes, to compare them between ranks.
std::uint64_t hash_of(const std::byte* data, std::size_t bytes);

}  // namespace ringcomm::perf
