// SPDX-License-Identifier: Apache-2.0
// Owning test tensors of any dtype and stride, surrounded by NaN so that a read outside of them shows.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ringcomm/core/tensor_view.hpp"

namespace ringcomm::test {

/// Elements between the rows and heads of a tensor, and before and after it; all of them NaN.
struct Gaps {
  std::int64_t row = 0, head = 0, ends = 64;
};

/// [rows, heads, dim] of float32, bfloat16 or float16.
class HostTensor {
 public:
  HostTensor(DType dtype, std::int64_t rows, std::int64_t heads, std::int64_t dim, Gaps gaps = {})
      : view_{.dtype = dtype, .axes = 3, .shape = {rows, heads, dim}} {
    const std::int64_t head_stride = dim + gaps.head;
    view_.strides = {heads * head_stride + gaps.row, head_stride, 1};
    const std::int64_t elements = rows * view_.strides[0] + 2 * gaps.ends;
    bytes_.assign(static_cast<std::size_t>(elements) * bytes_of(dtype), 0xFF);  // NaN in every dtype
    view_.data = bytes_.data() + static_cast<std::size_t>(gaps.ends) * bytes_of(dtype);
  }
  HostTensor(HostTensor&&) = default;
  HostTensor& operator=(HostTensor&&) = default;

  const TensorView& view() const { return view_; }
  /// Rows [first, first + count).
  TensorView rows(std::int64_t first, std::int64_t count) const {
    TensorView part = view_;
    part.shape[0] = count;
    part.data = static_cast<std::uint8_t*>(view_.data) +
                static_cast<std::size_t>(first * view_.strides[0]) * bytes_of(view_.dtype);
    return part;
  }

  void set(std::int64_t row, std::int64_t head, std::int64_t d, float value) {
    const std::int64_t at = row * view_.strides[0] + head * view_.strides[1] + d;
    if (view_.dtype == DType::bfloat16) static_cast<bf16*>(view_.data)[at] = to_bf16(value);
    if (view_.dtype == DType::float16) static_cast<fp16*>(view_.data)[at] = to_fp16(value);
    if (view_.dtype == DType::float32) static_cast<float*>(view_.data)[at] = value;
  }
  void fill(const std::function<float(std::int64_t row, std::int64_t head, std::int64_t d)>& value) {
    for (std::int64_t row = 0; row < view_.shape[0]; ++row) {
      for (std::int64_t head = 0; head < view_.shape[1]; ++head) {
        for (std::int64_t d = 0; d < view_.shape[2]; ++d) set(row, head, d, value(row, head, d));
      }
    }
  }
  /// Standard normal values from `seed`, times `factor`.
  void fill_normal(unsigned seed, float factor = 1.0F);

 private:
  std::vector<std::uint8_t> bytes_;
  TensorView view_;
};

}  // namespace ringcomm::test
