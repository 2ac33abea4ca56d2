// SPDX-License-Identifier: Apache-2.0
// Wrong arguments to the local merge and to SoftmaxPartial::in: each is refused with its value, and nothing
// is written.
#include "ringcomm/collectives/softmax_stats.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace ringcomm {
namespace {

struct Fixture {
  std::vector<float> out = std::vector<float>(64, 7.0F);
  std::vector<float> lse = std::vector<float>(16, 1.0F);
  SoftmaxPartial view(std::int64_t rows, std::int64_t dim) {
    return {.out = TensorView::contiguous(out.data(), DType::float32, {rows, dim}),
            .statistic = TensorView::contiguous(lse.data(), DType::float32, {rows})};
  }
};

void expect_refused(const SoftmaxPartial& target, const SoftmaxPartial& source, std::string_view part) {
  const Status status = merge_softmax_partials(target, std::array{source});
  EXPECT_EQ(status.code(), StatusCode::invalid_argument) << status.to_string();
  EXPECT_NE(status.message().find(part), std::string_view::npos) << status.to_string();
}

TEST(SoftmaxStatsTest, MergeRefusesWrongArgumentsByName) {
  Fixture a;
  Fixture b;
  const SoftmaxPartial target = a.view(4, 8);
  expect_refused(target, b.view(3, 8), "rows differs: target has 4, source 0 has 3");
  expect_refused(target, b.view(4, 7), "dim differs");
  SoftmaxPartial base_two = b.view(4, 8);
  base_two.base = LogBase::two;
  expect_refused(target, base_two, "log base differs: target has e, source 0 has 2");
  SoftmaxPartial pairs = b.view(4, 8);
  pairs.form = PartialForm::unnormalised;
  expect_refused(target, pairs, "unnormalised partials take [4, 2]");
  pairs.statistic = TensorView::contiguous(b.lse.data(), DType::float32, {4, 2});
  expect_refused(target, pairs, "form differs: target has normalised");
  SoftmaxPartial integers = b.view(4, 8);
  integers.out.dtype = DType::int32;
  expect_refused(target, integers, "int32");
  SoftmaxPartial half_statistic = b.view(4, 8);
  half_statistic.statistic.dtype = DType::float16;
  expect_refused(target, half_statistic, "statistics are float32");
  SoftmaxPartial strided = b.view(4, 8);
  strided.out.strides[1] = 2;
  expect_refused(target, strided, "stride 2 on axis 1");
  SoftmaxPartial negative = b.view(4, 8);
  negative.out.shape[0] = -1;
  expect_refused(target, negative, "negative");
  SoftmaxPartial shifted = a.view(4, 8);
  shifted.out.data = a.out.data() + 1;
  expect_refused(target, shifted, "overlaps");
  EXPECT_EQ(merge_softmax_partials(target, {}).code(), StatusCode::invalid_argument);
  EXPECT_EQ(a.out, std::vector<float>(64, 7.0F));
}

TEST(SoftmaxStatsTest, WindowLayoutIsWholeAndAligned) {
  SegmentOptions options;
  options.kind = SegmentKind::local;
  options.bytes = 4096;
  auto segment = Segment::create(options);
  ASSERT_TRUE(segment.is_ok());
  const Window window(segment.value(), 4096);
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    for (const PartialForm form : {PartialForm::normalised, PartialForm::unnormalised}) {
      const auto partial = SoftmaxPartial::in(window, 5, 7, dtype, form);
      ASSERT_TRUE(partial.is_ok()) << partial.status().to_string();
      const auto& view = partial.value();
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.statistic.data) % 4, 0U);
      EXPECT_GE(static_cast<std::byte*>(view.statistic.data),
                static_cast<std::byte*>(view.out.data) + view.out.bytes());
      EXPECT_LE(static_cast<std::byte*>(view.statistic.data) + view.statistic.bytes(),
                window.data() + SoftmaxPartial::bytes_needed(5, 7, dtype, form));
    }
  }
  EXPECT_EQ(SoftmaxPartial::in(window, 1000, 7).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(SoftmaxPartial::in(window, -1, 7).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(SoftmaxPartial::in(window, 1, 7, DType::int8).status().code(), StatusCode::invalid_argument);
}

}  // namespace
}  // namespace ringcomm
