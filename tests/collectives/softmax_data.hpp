// SPDX-License-Identifier: Apache-2.0
// Partials of ranks for the softmax merges, with rows that see nothing, and bitwise comparison.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "collectives/rank_data.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"

namespace ringcomm::test {

struct Shape {
  std::int64_t rows, dim;
  DType dtype;
  PartialForm form;
  std::size_t bytes() const { return SoftmaxPartial::bytes_needed(rows, dim, dtype, form); }
};

/// A partial whose parts lie in memory of its own, rows `gap` elements apart.
struct Owned {
  std::vector<std::byte> out;
  std::vector<float> statistic;
  SoftmaxPartial view;

  Owned(const Shape& shape, std::int64_t gap = 0) {
    const bool is_pair = shape.form == PartialForm::unnormalised;
    out.resize(static_cast<std::size_t>(shape.rows * (shape.dim + gap)) * bytes_of(shape.dtype));
    statistic.resize(static_cast<std::size_t>(shape.rows * (is_pair ? 2 : 1)));
    view.form = shape.form;
    view.out = TensorView::contiguous(out.data(), shape.dtype, {shape.rows, shape.dim});
    view.out.strides[0] = shape.dim + gap;
    view.statistic = is_pair ? TensorView::contiguous(statistic.data(), DType::float32, {shape.rows, 2})
                             : TensorView::contiguous(statistic.data(), DType::float32, {shape.rows});
  }
};

inline void set(const TensorView& view, std::int64_t row, std::int64_t column, float value) {
  const std::int64_t at = row * view.strides[0] + column * view.strides[1];
  if (view.dtype == DType::bfloat16) {
    static_cast<bf16*>(view.data)[at] = to_bf16(value);
  } else if (view.dtype == DType::float16) {
    static_cast<fp16*>(view.data)[at] = to_fp16(value);
  } else {
    static_cast<float*>(view.data)[at] = value;
  }
}

inline float get(const TensorView& view, std::int64_t row, std::int64_t column) {
  const std::int64_t at = row * view.strides[0] + column * view.strides[1];
  if (view.dtype == DType::bfloat16) return to_float(static_cast<const bf16*>(view.data)[at]);
  if (view.dtype == DType::float16) return to_float(static_cast<const fp16*>(view.data)[at]);
  return static_cast<const float*>(view.data)[at];
}

/// The partial of one rank: every third row empty with a NaN payload, all ranks' row 1 empty.
inline void fill(const SoftmaxPartial& partial, int rank, int salt) {
  std::mt19937 random(static_cast<std::uint32_t>(1000 * salt + rank));
  std::normal_distribution<float> normal;
  auto* const statistic = static_cast<float*>(partial.statistic.data);
  const bool is_pair = partial.form == PartialForm::unnormalised;
  for (std::int64_t row = 0; row < partial.rows(); ++row) {
    const bool is_empty = row == 1 || (row + rank) % 3 == 0;
    const float value = is_empty ? -std::numeric_limits<float>::infinity() : 3.0F * normal(random);
    if (is_pair) {
      statistic[2 * row] = value;
      statistic[2 * row + 1] = is_empty ? 0.0F : 1.0F + std::fabs(normal(random));
    } else {
      statistic[row] = value;
    }
    for (std::int64_t d = 0; d < partial.dim(); ++d)
      set(partial.out, row, d, is_empty ? std::nanf("") : normal(random));
  }
}

inline bool is_same(const SoftmaxPartial& a, const SoftmaxPartial& b) {
  const auto rows_equal = [](const TensorView& x, const TensorView& y, std::size_t row_bytes) {
    for (std::int64_t row = 0; row < x.shape[0]; ++row) {
      const auto size = static_cast<std::int64_t>(bytes_of(x.dtype));
      if (std::memcmp(static_cast<std::byte*>(x.data) + row * x.strides[0] * size,
                      static_cast<std::byte*>(y.data) + row * y.strides[0] * size, row_bytes) != 0)
        return false;
    }
    return true;
  };
  const std::size_t statistics = a.form == PartialForm::unnormalised ? 8 : 4;
  return rows_equal(a.out, b.out, static_cast<std::size_t>(a.dim()) * bytes_of(a.out.dtype)) &&
         rows_equal(a.statistic, b.statistic, statistics);
}

/// What every rank of `ranks` has filled in.
inline std::vector<Owned> all_partials(const Shape& shape, int ranks, int salt, LogBase base = LogBase::e) {
  std::vector<Owned> all;
  for (int rank = 0; rank < ranks; ++rank) {
    all.emplace_back(shape);
    all.back().view.base = base;
    fill(all.back().view, rank, salt);
  }
  return all;
}

inline Owned expected_of(const Shape& shape, int ranks, int salt, LogBase base = LogBase::e) {
  const std::vector<Owned> all = all_partials(shape, ranks, salt, base);
  std::vector<SoftmaxPartial> views;
  for (const Owned& one : all) views.push_back(one.view);
  Owned merged(shape);
  merged.view.base = base;
  EXPECT_TRUE(merge_softmax_partials(merged.view, views).is_ok());
  return merged;
}

}  // namespace ringcomm::test
