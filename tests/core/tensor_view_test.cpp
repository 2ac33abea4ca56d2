// SPDX-License-Identifier: Apache-2.0
// The oracle is arithmetic done by hand on small shapes, and the exact refusals for shapes that cannot be.
#include "ringcomm/core/tensor_view.hpp"

#include <gtest/gtest.h>

namespace ringcomm {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

float memory[24];

std::string refusal(const TensorView& view) {
  const Status status = validate(view, "q");
  if (status.is_ok()) return "ok";
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  return std::string(status.message());
}

TEST(TensorViewTest, ContiguousHasTheLastAxisFastest) {
  const auto view = TensorView::contiguous(memory, DType::float32, {2, 3, 4});
  EXPECT_EQ(view.axes, 3);
  EXPECT_EQ(view.strides[0], 12);
  EXPECT_EQ(view.strides[1], 4);
  EXPECT_EQ(view.strides[2], 1);
  EXPECT_EQ(view.element_count(), 24);
  EXPECT_EQ(view.bytes(), 96U);
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_EQ(refusal(view), "ok");
}

TEST(TensorViewTest, NoAxesMeansOneElement) {
  const auto view = TensorView::contiguous(memory, DType::float64, {});
  EXPECT_EQ(view.element_count(), 1);
  EXPECT_EQ(view.bytes(), 8U);
  EXPECT_TRUE(view.is_contiguous());
}

TEST(TensorViewTest, ZeroOnAnyAxisIsEmptyAndNeedsNoMemory) {
  for (const auto& shape :
       {std::initializer_list<std::int64_t>{0, 3}, {3, 0}, {0}, {kHuge, kHuge, 0}, {0, kHuge, kHuge}}) {
    const auto view = TensorView::contiguous(nullptr, DType::bfloat16, shape);
    EXPECT_EQ(view.element_count(), 0);
    EXPECT_EQ(view.bytes(), 0U);
    EXPECT_TRUE(view.is_contiguous());
    EXPECT_EQ(refusal(view), "ok");
  }
  TensorView strided = TensorView::contiguous(nullptr, DType::bfloat16, {0, 3});
  strided.strides = {7, 5};
  EXPECT_TRUE(strided.is_contiguous());
}

TEST(TensorViewTest, StridedViewsAreValidButNotContiguous) {
  auto view = TensorView::contiguous(memory, DType::float32, {2, 3});
  view.strides[0] = 8;
  EXPECT_FALSE(view.is_contiguous());
  EXPECT_EQ(view.bytes(), 24U) << "the payload, not the distance";
  EXPECT_EQ(refusal(view), "ok");
  auto transposed = TensorView::contiguous(memory, DType::float32, {2, 3});
  transposed.strides = {1, 2};
  EXPECT_FALSE(transposed.is_contiguous());
  auto broadcast = TensorView::contiguous(memory, DType::float32, {2, 3});
  broadcast.strides[0] = 0;
  EXPECT_FALSE(broadcast.is_contiguous());
  EXPECT_EQ(refusal(broadcast), "ok");
}

TEST(TensorViewTest, StrideOfASingleElementDoesNotMatter) {
  auto view = TensorView::contiguous(memory, DType::float32, {2, 1, 3});
  view.strides[1] = 1000;
  EXPECT_TRUE(view.is_contiguous());
  view.strides[1] = -1;
  EXPECT_EQ(refusal(view), "ok");
}

TEST(TensorViewTest, NegativeExtentIsRefused) {
  EXPECT_EQ(refusal(TensorView::contiguous(memory, DType::float32, {2, -3})),
            "q has extent -3 on axis 1 (negative)");
  EXPECT_EQ(refusal(TensorView::contiguous(memory, DType::float32, {0, -3})),
            "q has extent -3 on axis 1 (negative)");
  EXPECT_EQ(refusal(TensorView::contiguous(memory, DType::float32, {INT64_MIN, INT64_MIN})),
            "q has extent -9223372036854775808 on axis 0 (negative)");
}

TEST(TensorViewTest, NegativeStrideIsRefused) {
  auto view = TensorView::contiguous(memory, DType::float32, {2, 3});
  view.strides[0] = -3;
  EXPECT_EQ(refusal(view), "q has stride -3 on axis 0 (negative)");
}

TEST(TensorViewTest, SizesBeyond63BitsAreRefusedAndNeverWrap) {
  const auto elements = TensorView::contiguous(memory, DType::uint8, {kHuge, 2});
  EXPECT_EQ(refusal(elements), "q is larger than 2^63 bytes (extent 2 on axis 1)");
  EXPECT_EQ(elements.element_count(), INT64_MAX);
  const auto bytes = TensorView::contiguous(memory, DType::float32, {kHuge});
  EXPECT_EQ(refusal(bytes), "q is larger than 2^63 bytes (extent 4611686018427387904 on axis 0)");
  const auto wraps_to_zero = TensorView::contiguous(memory, DType::uint8, {kHuge, 4, kHuge, 4});
  EXPECT_EQ(wraps_to_zero.element_count(), INT64_MAX);
  EXPECT_NE(refusal(wraps_to_zero), "ok");
}

TEST(TensorViewTest, DistanceBeyond63BitsIsRefused) {
  auto view = TensorView::contiguous(memory, DType::float32, {3, 2});
  view.strides[0] = kHuge;
  EXPECT_EQ(refusal(view), "q is larger than 2^63 bytes (extent 3 on axis 0)");
  view.strides[0] = kHuge / 4;  // 2 * 2^60 * 4 bytes
  EXPECT_EQ(refusal(view), "q is larger than 2^63 bytes (extent 3 on axis 0)");
  auto together = TensorView::contiguous(memory, DType::uint8, {2, 2, 2});
  together.strides = {kHuge, kHuge, kHuge};
  EXPECT_EQ(refusal(together), "q is larger than 2^63 bytes (extent 2 on axis 1)");
  view.strides[0] = kHuge / 16;
  EXPECT_EQ(refusal(view), "ok");
}

TEST(TensorViewTest, NullWithElementsIsRefused) {
  EXPECT_EQ(refusal(TensorView::contiguous(nullptr, DType::float32, {2, 3})),
            "q has no memory (null pointer) but 24 bytes");
}

TEST(TensorViewTest, AxesOutOfRangeAreRefused) {
  EXPECT_EQ(refusal(TensorView::contiguous(memory, DType::float32, {1, 1, 1, 1, 1})),
            "q has 5 axes (0 to 4 are possible)");
  TensorView view;
  view.axes = -1;
  EXPECT_EQ(refusal(view), "q has -1 axes (0 to 4 are possible)");
  EXPECT_EQ(view.element_count(), 1);
  EXPECT_TRUE(view.is_contiguous());
}

TEST(TensorViewTest, UnknownDataTypeIsRefused) {
  auto view = TensorView::contiguous(memory, DType::float32, {1});
  view.dtype = static_cast<DType>(200);
  EXPECT_EQ(refusal(view), "q has data type number 200 (unknown)");
}

}  // namespace
}  // namespace ringcomm
