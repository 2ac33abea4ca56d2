// SPDX-License-Identifier: Apache-2.0
// Attention over local blocks. The oracle is float64 attention over all keys at once.
#include "ringcomm/attention/local_attention.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "support/host_tensor.hpp"
#include "support/oracle_attention.hpp"

namespace ringcomm {
namespace {

struct Case {
  LocalAttentionSpec spec;
  std::int64_t keys = 0;
  VisibleBand band{};
};

class LocalAttentionTest : public testing::Test {
 protected:
  void start(const Case& used) {
    used_ = used;
    const LocalAttentionSpec& spec = used.spec;
    q_ = test::HostTensor(spec.dtype, spec.q_rows, spec.q_heads, spec.head_dim);
    k_ = test::HostTensor(spec.dtype, used.keys, spec.kv_heads, spec.head_dim);
    v_ = test::HostTensor(spec.dtype, used.keys, spec.kv_heads, spec.head_dim);
    out_ = test::HostTensor(spec.dtype, spec.q_rows, spec.q_heads, spec.head_dim);
    q_.fill_normal(1);
    k_.fill_normal(2);
    v_.fill_normal(3);
    lse_.assign(static_cast<std::size_t>(spec.q_heads * spec.q_rows), NAN);
  }
  TensorView lse() {
    return TensorView::contiguous(lse_.data(), DType::float32, {used_.spec.q_heads, used_.spec.q_rows});
  }
  /// Keys [first, first + count), for all queries.
  Status add(LocalAttention& attention, std::int64_t first, std::int64_t count) {
    return attention.add({.q_first = 0,
                          .q_count = used_.spec.q_rows,
                          .visible = {used_.band.lower + first, used_.band.upper + first}},
                         k_.rows(first, count), v_.rows(first, count));
  }
  void expect_oracle(const TensorView& out) {
    const LocalAttentionSpec& spec = used_.spec;
    test::OracleProblem problem;
    problem.q = q_.view();
    problem.k = k_.view();
    problem.v = v_.view();
    problem.scale = 1 / std::sqrt(static_cast<double>(spec.head_dim));
    problem.band = used_.band;
    const test::OracleResult oracle = test::oracle_attention(problem);
    // bf16 inputs of order 1: one rounding of the weights and one of the output.
    const double bound = spec.dtype == DType::float32 ? 2e-5 : 2e-2;
    for (std::int64_t row = 0; row < spec.q_rows; ++row) {
      for (std::int64_t head = 0; head < spec.q_heads; ++head) {
        for (std::int64_t d = 0; d < spec.head_dim; ++d) {
          const auto at = static_cast<std::size_t>((row * spec.q_heads + head) * spec.head_dim + d);
          ASSERT_NEAR(test::element(out, row, head, d), oracle.out[at], bound)
              << "row " << row << " head " << head << " dim " << d;
        }
        const auto at = static_cast<std::size_t>(head * spec.q_rows + row);
        if (std::isinf(oracle.lse[at])) {
          ASSERT_EQ(static_cast<double>(lse_[at]), oracle.lse[at]);
        } else {
          ASSERT_NEAR(static_cast<double>(lse_[at]), oracle.lse[at], 1e-2) << "row " << row;
        }
      }
    }
  }

  Case used_;
  test::HostTensor q_{DType::float32, 0, 1, 64}, k_{DType::float32, 0, 1, 64}, v_{DType::float32, 0, 1, 64},
      out_{DType::float32, 0, 1, 64};
  std::vector<float> lse_;
};

Case case_of(DType dtype, std::int64_t q_rows, std::int64_t keys, VisibleBand band = {}) {
  return {.spec = {.q_rows = q_rows, .q_heads = 4, .kv_heads = 2, .head_dim = 64, .dtype = dtype},
          .keys = keys,
          .band = band};
}

TEST_F(LocalAttentionTest, BlocksOfAnySizeGiveTheWhole) {
  // Queries behind 60 earlier tokens; and queries of which the first ten see nothing.
  for (const VisibleBand band : {VisibleBand{}, VisibleBand{.lower = -60}, VisibleBand{.lower = 10}}) {
    for (const DType dtype : {DType::float32, DType::bfloat16}) {
      start(case_of(dtype, 70, 201, band));
      auto attention = LocalAttention::create(used_.spec);
      ASSERT_TRUE(attention.is_ok()) << attention.status().to_string();
      for (int pass = 0; pass < 2; ++pass) {  // begin() forgets the pass before
        ASSERT_TRUE(attention->begin(q_.view()).is_ok());
        std::int64_t first = 0;
        for (const std::int64_t count : {1, 0, 63, 130, 7}) {
          const Status added = add(attention.value(), first, count);
          ASSERT_TRUE(added.is_ok()) << added.to_string();
          first += count;
        }
        ASSERT_EQ(first, used_.keys);
        ASSERT_TRUE(attention->finish(out_.view(), lse()).is_ok());
        expect_oracle(out_.view());
      }
    }
  }
}

TEST_F(LocalAttentionTest, ABoundBeyondInfinityIsInfinite) {
  using Limits = std::numeric_limits<std::int64_t>;
  constexpr std::int64_t kFar = VisibleBand::kInfinite;
  const std::pair<VisibleBand, VisibleBand> given_and_meant[] = {{{Limits::min(), 5}, {-kFar, 5}},
                                                                 {{-5, Limits::max()}, {-5, kFar}}};
  for (const auto& [given, meant] : given_and_meant) {
    start(case_of(DType::float32, 70, 90, meant));
    auto attention = LocalAttention::create(used_.spec);
    ASSERT_TRUE(attention.is_ok()) << attention.status().to_string();
    ASSERT_TRUE(attention->begin(q_.view()).is_ok());
    const LocalRange range{.q_first = 0, .q_count = 70, .visible = given};
    ASSERT_TRUE(attention->add(range, k_.view(), v_.view()).is_ok());
    ASSERT_TRUE(attention->finish(out_.view(), lse()).is_ok());
    expect_oracle(out_.view());
  }
}

TEST_F(LocalAttentionTest, RangesOfQueriesTogetherAreAllQueries) {
  start(case_of(DType::float32, 100, 90));
  auto attention = LocalAttention::create(used_.spec);
  ASSERT_TRUE(attention.is_ok()) << attention.status().to_string();
  ASSERT_TRUE(attention->begin(q_.view()).is_ok());
  for (const LocalRange range : {LocalRange{.q_first = 0, .q_count = 37}, LocalRange{37, 63, {}}})
    ASSERT_TRUE(attention->add(range, k_.view(), v_.view()).is_ok());
  ASSERT_TRUE(attention->finish(out_.view(), lse()).is_ok());
  expect_oracle(out_.view());
}

TEST_F(LocalAttentionTest, APartialIsNotRounded) {
  start(case_of(DType::bfloat16, 5, 33));
  auto attention = LocalAttention::create(used_.spec);
  ASSERT_TRUE(attention.is_ok()) << attention.status().to_string();
  ASSERT_TRUE(attention->begin(q_.view()).is_ok());
  ASSERT_TRUE(attention->add(k_.view(), v_.view()).is_ok());
  test::HostTensor partial(DType::float32, 5, 4, 64);
  ASSERT_TRUE(attention->finish(partial.view(), lse()).is_ok());
  expect_oracle(partial.view());
  int unrounded = 0;
  for (std::int64_t d = 0; d < 64; ++d) {
    const double value = test::element(partial.view(), 0, 0, d);
    unrounded += value != static_cast<double>(to_float(to_bf16(static_cast<float>(value)))) ? 1 : 0;
  }
  EXPECT_GT(unrounded, 0);
}

TEST_F(LocalAttentionTest, QueryHeadsOfOneKvHeadMayBeRows) {
  // A decode step: one token; the two query heads that share a KV head are the rows of one tile.
  start(case_of(DType::bfloat16, 1, 77));
  LocalAttentionSpec as_rows = used_.spec;
  as_rows.q_rows = 2;
  as_rows.q_heads = 2;
  auto attention = LocalAttention::create(as_rows);
  ASSERT_TRUE(attention.is_ok()) << attention.status().to_string();
  const auto rows_of = [](TensorView view) {
    view.shape = {2, 2, 64};
    view.strides = {64, 128, 1};
    return view;
  };
  ASSERT_TRUE(attention->begin(rows_of(q_.view())).is_ok());
  ASSERT_TRUE(attention->add(k_.view(), v_.view()).is_ok());
  const TensorView lse_rows = TensorView::contiguous(lse_.data(), DType::float32, {2, 2});
  ASSERT_TRUE(attention->finish(rows_of(out_.view()), lse_rows).is_ok());
  expect_oracle(out_.view());
}

TEST_F(LocalAttentionTest, RefusesWhatDoesNotFitAndSaysWhy) {
  start(case_of(DType::bfloat16, 8, 16));
  auto attention = LocalAttention::create(used_.spec);
  ASSERT_TRUE(attention.is_ok()) << attention.status().to_string();
  EXPECT_EQ(attention->add(k_.view(), v_.view()).to_string(),
            "invalid_argument: local attention: keys were added before begin()");
  EXPECT_EQ(attention->finish(out_.view(), lse()).to_string(),
            "invalid_argument: local attention: finish() before begin()");
  EXPECT_EQ(attention->begin(k_.view()).to_string(),
            "invalid_argument: q has extent 16 on axis 0 (local attention was created for 8)");
  ASSERT_TRUE(attention->begin(q_.view()).is_ok());
  EXPECT_EQ(attention->add(k_.view(), v_.rows(0, 15)).to_string(),
            "invalid_argument: v has extent 15 on axis 0 (local attention was created for 16)");
  EXPECT_EQ(attention->add({.q_first = 5, .q_count = 4}, k_.view(), v_.view()).to_string(),
            "invalid_argument: local attention: query rows 5 and 4 from there (it was created for 8)");
  EXPECT_EQ(attention->add({.q_first = -1, .q_count = 4}, k_.view(), v_.view()).code(),
            StatusCode::invalid_argument);
  EXPECT_EQ(attention->finish(k_.view(), lse()).code(), StatusCode::invalid_argument);
  const TensorView short_lse = TensorView::contiguous(lse_.data(), DType::float32, {4, 7});
  EXPECT_EQ(attention->finish(out_.view(), short_lse).to_string(),
            "invalid_argument: lse has extent 7 on axis 1 (local attention was created for 8)");
  // Nothing has happened.
  ASSERT_TRUE(attention->add(k_.view(), v_.view()).is_ok());
  ASSERT_TRUE(attention->finish(out_.view(), lse()).is_ok());
  expect_oracle(out_.view());
}

TEST(LocalAttentionCreateTest, RefusesWhatNoKernelComputes) {
  EXPECT_EQ(LocalAttention::create({.q_rows = 1, .head_dim = 65}).status().code(), StatusCode::not_available);
  EXPECT_EQ(LocalAttention::create({.q_rows = 1, .q_heads = 3, .kv_heads = 2}).status().code(),
            StatusCode::invalid_argument);
  EXPECT_EQ(LocalAttention::create({.q_rows = -1}).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(LocalAttention::create({.q_rows = 1, .workers = 0}).status().code(),
            StatusCode::invalid_argument);
}

}  // namespace
}  // namespace ringcomm
