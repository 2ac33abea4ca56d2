// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/core/tensor_view.hpp"

#include <algorithm>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {

TensorView TensorView::contiguous(void* data, DType dtype, std::initializer_list<std::int64_t> shape) {
  TensorView view{
      .data = data, .dtype = dtype, .axes = static_cast<int>(std::min<std::size_t>(shape.size(), kAxesMax))};
  std::copy_n(shape.begin(), view.axes, view.shape.begin());
  std::int64_t stride = 1;
  for (int axis = view.axes - 1; axis >= 0; --axis) {
    view.strides[static_cast<std::size_t>(axis)] = stride;
    stride *= std::max<std::int64_t>(view.shape[static_cast<std::size_t>(axis)], 1);
  }
  return view;
}

std::int64_t TensorView::element_count() const {
  std::int64_t count = 1;
  for (int axis = 0; axis < axes; ++axis) count *= shape[static_cast<std::size_t>(axis)];
  return count;
}

std::size_t TensorView::bytes() const { return static_cast<std::size_t>(element_count()) * bytes_of(dtype); }

bool TensorView::is_contiguous() const {
  std::int64_t stride = 1;
  for (int axis = axes - 1; axis >= 0; --axis) {
    const auto index = static_cast<std::size_t>(axis);
    if (shape[index] == 0) return true;
    if (shape[index] != 1 && strides[index] != stride) return false;
    stride *= shape[index];
  }
  return true;
}

Status validate(const TensorView& view, std::string_view what) {
  if (view.axes < 0 || view.axes > TensorView::kAxesMax) {
    return Status::invalid_argument(concat(what, " has ", view.axes, " axes (0 to 4 are possible)"));
  }
  if (bytes_of(view.dtype) == 0) {
    return Status::invalid_argument(
        concat(what, " has data type number ", static_cast<int>(view.dtype), " (unknown)"));
  }
  auto bytes = static_cast<std::int64_t>(bytes_of(view.dtype));
  bool empty = false;
  for (int axis = 0; axis < view.axes; ++axis) {
    const std::int64_t extent = view.shape[static_cast<std::size_t>(axis)];
    if (extent < 0)
      return Status::invalid_argument(concat(what, " has extent ", extent, " on axis ", axis, " (negative)"));
    empty = empty || extent == 0;
    if (!empty && __builtin_mul_overflow(bytes, extent, &bytes)) {
      return Status::invalid_argument(
          concat(what, " is larger than 2^63 bytes (extent ", extent, " on axis ", axis, ")"));
    }
  }
  if (!empty && view.data == nullptr)
    return Status::invalid_argument(concat(what, " has no memory (null pointer) but ", bytes, " bytes"));
  return {};
}

}  // namespace ringcomm::inline v0
