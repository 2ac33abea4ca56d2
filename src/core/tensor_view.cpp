// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/core/tensor_view.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {

namespace {

// Saturates, so that a size which validate() refuses never wraps to a plausible one before it is asked.
std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  return (a < 0) == (b < 0) ? kMax : -kMax;
}

std::span<const std::int64_t> extents_of(const TensorView& view) {
  return std::span(view.shape)
      .first(static_cast<std::size_t>(std::clamp(view.axes, 0, TensorView::kAxesMax)));
}

bool is_empty(const TensorView& view) { return std::ranges::count(extents_of(view), 0) > 0; }

Status too_large(std::string_view what, std::int64_t extent, int axis) {
  return Status::invalid_argument(
      concat(what, " is larger than 2^63 bytes (extent ", extent, " on axis ", axis, ")"));
}

Status validate_axes(const TensorView& view, std::string_view what) {
  for (int axis = 0; axis < view.axes; ++axis) {
    const std::int64_t extent = view.shape[static_cast<std::size_t>(axis)];
    const std::int64_t stride = view.strides[static_cast<std::size_t>(axis)];
    if (extent < 0)
      return Status::invalid_argument(concat(what, " has extent ", extent, " on axis ", axis, " (negative)"));
    if (extent > 1 && stride < 0)
      return Status::invalid_argument(concat(what, " has stride ", stride, " on axis ", axis, " (negative)"));
  }
  return {};
}

/// Neither the payload nor the distance from the first to past the last element exceeds 63 bits.
Status validate_size(const TensorView& view, std::string_view what) {
  const auto element = static_cast<std::int64_t>(bytes_of(view.dtype));
  std::int64_t bytes = element;
  std::int64_t span = element;
  for (int axis = 0; axis < view.axes; ++axis) {
    const std::int64_t extent = view.shape[static_cast<std::size_t>(axis)];
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(bytes, extent, &bytes) ||
        __builtin_mul_overflow(extent - 1, view.strides[static_cast<std::size_t>(axis)], &reach) ||
        __builtin_mul_overflow(reach, element, &reach) || __builtin_add_overflow(span, reach, &span)) {
      return too_large(what, extent, axis);
    }
  }
  if (view.data == nullptr)
    return Status::invalid_argument(concat(what, " has no memory (null pointer) but ", bytes, " bytes"));
  return {};
}

}  // namespace

TensorView TensorView::contiguous(void* data, DType dtype, std::initializer_list<std::int64_t> shape) {
  // One axis too many stays visible to validate() instead of being dropped.
  constexpr auto kAxesKept = static_cast<std::size_t>(kAxesMax);
  TensorView view{
      .data = data, .dtype = dtype, .axes = static_cast<int>(std::min(shape.size(), kAxesKept + 1))};
  std::copy_n(shape.begin(), std::min(shape.size(), kAxesKept), view.shape.begin());
  std::int64_t stride = 1;
  for (std::size_t axis = std::min(shape.size(), kAxesKept); axis-- > 0;) {
    view.strides[axis] = stride;
    stride = saturating_product(stride, std::max<std::int64_t>(view.shape[axis], 1));
  }
  return view;
}

std::int64_t TensorView::element_count() const {
  if (is_empty(*this)) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : extents_of(*this)) count = saturating_product(count, extent);
  return count;
}

std::size_t TensorView::bytes() const { return static_cast<std::size_t>(element_count()) * bytes_of(dtype); }

bool TensorView::is_contiguous() const {
  if (is_empty(*this)) return true;
  std::int64_t stride = 1;
  for (std::size_t axis = extents_of(*this).size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != stride) return false;
    stride = saturating_product(stride, shape[axis]);
  }
  return true;
}

Status validate(const TensorView& view, std::string_view what) {
  if (view.axes < 0 || view.axes > TensorView::kAxesMax) {
    return Status::invalid_argument(
        concat(what, " has ", view.axes, " axes (0 to ", TensorView::kAxesMax, " are possible)"));
  }
  if (bytes_of(view.dtype) == 0) {
    return Status::invalid_argument(
        concat(what, " has data type number ", static_cast<int>(view.dtype), " (unknown)"));
  }
  RINGCOMM_TRY(validate_axes(view, what));
  return is_empty(view) ? Status() : validate_size(view, what);
}

}  // namespace ringcomm::inline v0
