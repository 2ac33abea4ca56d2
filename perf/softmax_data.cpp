// SPDX-License-Identifier: Apache-2.0
#include "softmax_data.hpp"

#include <algorithm>
#include <cmath>

#include "case.hpp"
#include "elements.hpp"

namespace ringcomm::perf {
namespace {

/// One rounding of the payload type, plus the fp32 merge's own few roundings.
double tolerance(DType type) {
  return type == DType::float32 ? 4e-6 : type == DType::float16 ? 0x1p-10 : 0x1p-7;
}

}  // namespace

std::size_t SoftmaxData::row_bytes() const {
  return static_cast<std::size_t>(dim_) * bytes_of(dtype_) + (form_ == PartialForm::normalised ? 4 : 8);
}

std::size_t SoftmaxData::bytes_of_rows(std::int64_t rows) const {
  return SoftmaxPartial::bytes_needed(rows, dim_, dtype_, form_);
}

SoftmaxPartial SoftmaxData::view(std::byte* block, std::int64_t rows) const {
  const std::int64_t statistics = form_ == PartialForm::normalised ? 1 : 2;
  std::byte* const statistic = block + bytes_of_rows(rows) - static_cast<std::size_t>(rows * statistics) * 4;
  return {.form = form_,
          .base = LogBase::e,
          .out = TensorView::contiguous(block, dtype_, {rows, dim_}),
          .statistic = statistics == 1 ? TensorView::contiguous(statistic, DType::float32, {rows})
                                       : TensorView::contiguous(statistic, DType::float32, {rows, 2})};
}

SoftmaxData::RowValues SoftmaxData::values_of(int rank, std::int64_t row) {
  const bool is_empty = (row + rank) % 7 == 3;
  return {is_empty ? -INFINITY
                   : 8 * pattern(static_cast<std::uint64_t>(rank) + 100, static_cast<std::uint64_t>(row)),
          is_empty};
}

float SoftmaxData::payload(int rank, std::int64_t index) {
  return pattern(static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(index));
}

void SoftmaxData::fill(const SoftmaxPartial& partial, int rank) const {
  auto* statistic = static_cast<float*>(partial.statistic.data);
  for (std::int64_t row = 0; row < partial.rows(); ++row) {
    const RowValues values = values_of(rank, row);
    if (form_ == PartialForm::normalised) {
      statistic[row] = values.lse;
    } else {
      statistic[2 * row] = values.lse;
      statistic[2 * row + 1] = values.is_empty ? 0.0F : 1.0F;
    }
    for (std::int64_t d = 0; d < dim_; ++d) {
      const std::int64_t index = row * dim_ + d;
      store_element(dtype_, partial.out.data, index,
                    values.is_empty ? std::nan("") : static_cast<double>(payload(rank, index)));
    }
  }
}

std::int64_t SoftmaxData::count_wrong(const SoftmaxPartial& result, std::int64_t local,
                                      std::int64_t row) const {
  double largest = -INFINITY;
  for (int rank = 0; rank < ranks_; ++rank)
    largest = std::max(largest, static_cast<double>(values_of(rank, row).lse));
  double sum = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const RowValues values = values_of(rank, row);
    if (!values.is_empty) sum += std::exp(static_cast<double>(values.lse) - largest);
  }
  const auto* statistic = static_cast<const float*>(result.statistic.data);
  const bool is_normalised = form_ == PartialForm::normalised;
  const double seen = is_normalised ? static_cast<double>(statistic[local])
                                    : static_cast<double>(statistic[2 * local]) +
                                          std::log(static_cast<double>(statistic[2 * local + 1]));
  std::int64_t wrong = 0;
  if (sum == 0) {
    wrong += seen == -INFINITY ? 0 : 1;
  } else {
    wrong += std::abs(seen - largest - std::log(sum)) < 1e-5 ? 0 : 1;
  }
  for (std::int64_t d = 0; d < dim_; ++d) {
    double expected = 0;
    double scale = 0;
    for (int rank = 0; rank < ranks_; ++rank) {
      const RowValues values = values_of(rank, row);
      if (values.is_empty) continue;
      const double weight = std::exp(static_cast<double>(values.lse) - largest) / (is_normalised ? sum : 1.0);
      expected += weight * static_cast<double>(payload(rank, row * dim_ + d));
      scale += weight;
    }
    const double error = std::abs(load_element(dtype_, result.out.data, local * dim_ + d) - expected);
    wrong += error <= tolerance(dtype_) * std::max(scale, 1e-30) ? 0 : 1;
  }
  return wrong;
}

std::uint64_t hash_of(const std::byte* data, std::size_t bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (std::size_t i = 0; i < bytes; ++i)
    hash = (hash ^ static_cast<std::uint64_t>(data[i])) * 0x100000001b3U;
  return hash;
}

}  // namespace ringcomm::perf
