// SPDX-License-Identifier: Apache-2.0
// The oracle for the demo's model and check: the definition, evaluated the slow way, and planted errors.
#include "model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <numeric>

#include "check.hpp"
#include "text_source.hpp"

namespace ringcomm::demo {
namespace {

const std::string kText =
    "the ring turns, the ring turns, and every block is read where it lies; the ring turns.";

std::vector<std::int64_t> all_positions(std::int64_t count) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(count));
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

/// Attention by the oracle's own inputs in double, written into out and lse as a perfect kernel would.
struct Perfect {
  ModelShape shape{.q_heads = 4, .kv_heads = 2, .head_dim = 64};
  Model model{shape, 7};
  std::int64_t tokens = static_cast<std::int64_t>(kText.size());
  std::vector<bf16> q, k, v, out;
  std::vector<float> lse;

  Perfect() {
    const auto positions = all_positions(tokens);
    q.resize(static_cast<std::size_t>(tokens * 4 * 64));
    k.resize(static_cast<std::size_t>(tokens * 2 * 64));
    v.resize(k.size());
    out.resize(q.size());
    lse.resize(static_cast<std::size_t>(tokens * 4));
    model.fill_q(kText, positions, TensorView::contiguous(q.data(), DType::bfloat16, {tokens, 4, 64}));
    model.fill_k(kText, positions, TensorView::contiguous(k.data(), DType::bfloat16, {tokens, 2, 64}));
    model.fill_v(kText, positions, TensorView::contiguous(v.data(), DType::bfloat16, {tokens, 2, 64}));
    for (std::int64_t i = 0; i < tokens; ++i) {
      for (int h = 0; h < 4; ++h) attend_row(i, h);
    }
  }
  double at(const std::vector<bf16>& t, std::int64_t row, int heads, int head, int d) const {
    return static_cast<double>(to_float(t[static_cast<std::size_t>((row * heads + head) * 64 + d)]));
  }
  void attend_row(std::int64_t i, int h) {
    double sum = 0;
    std::vector<double> value(64, 0.0);
    for (std::int64_t j = 0; j <= i; ++j) {
      double x = 0;
      for (int d = 0; d < 64; ++d) x += at(q, i, 4, h, d) * at(k, j, 2, h / 2, d);
      const double weight = std::exp(x / 8.0);
      sum += weight;
      for (int d = 0; d < 64; ++d) value[static_cast<std::size_t>(d)] += weight * at(v, j, 2, h / 2, d);
    }
    for (int d = 0; d < 64; ++d) {
      out[static_cast<std::size_t>((i * 4 + h) * 64 + d)] =
          to_bf16(static_cast<float>(value[static_cast<std::size_t>(d)] / sum));
    }
    lse[static_cast<std::size_t>(h * tokens + i)] = static_cast<float>(std::log(sum));
  }
  CheckSums check(const std::vector<std::int64_t>& rows) {
    return check_rows(model, kText, all_positions(tokens), rows,
                      TensorView::contiguous(out.data(), DType::bfloat16, {tokens, 4, 64}),
                      TensorView::contiguous(lse.data(), DType::float32, {4, tokens}));
  }
};

TEST(DemoModelTest, PositionsAreIndependentOfWhoFillsThem) {
  const Model model({.q_heads = 4, .kv_heads = 2, .head_dim = 64}, 7);
  std::vector<bf16> whole(kText.size() * 2 * 64);
  std::vector<bf16> one(2 * 64);
  const auto tokens = static_cast<std::int64_t>(kText.size());
  model.fill_k(kText, all_positions(tokens),
               TensorView::contiguous(whole.data(), DType::bfloat16, {tokens, 2, 64}));
  model.fill_k(kText, {41}, TensorView::contiguous(one.data(), DType::bfloat16, {1, 2, 64}));
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_EQ(one[i].bits, whole[41 * 128 + i].bits);
}

TEST(DemoCheckTest, PerfectResultHasOneRoundingOfError) {
  Perfect perfect;
  const CheckSums sums = perfect.check(all_positions(perfect.tokens));
  EXPECT_EQ(sums.rows, static_cast<double>(perfect.tokens * 4));
  EXPECT_EQ(sums.not_finite, 0);
  EXPECT_NEAR(sums.error_squares / sums.rounding_squares, 1.0, 1e-6);
  EXPECT_LT(sums.lse_error_max, 1e-5);
  for (const double keys : sums.effective_keys) EXPECT_GE(keys, 0.999999);
}

TEST(DemoCheckTest, OneWrongRowAndOneNanAreSeen) {
  Perfect perfect;
  const auto rows = all_positions(perfect.tokens);
  perfect.out[(40 * 4 + 1) * 64 + 3] = to_bf16(100.0F);
  EXPECT_GT(perfect.check(rows).error_max, 50);
  perfect.out[(41 * 4 + 1) * 64 + 3] = bf16{0x7fc0};
  EXPECT_EQ(perfect.check(rows).not_finite, 1);
}

TEST(DemoCheckTest, ChunkEdgesAreAmongTheCheckedRows) {
  const std::vector<std::int64_t> positions{5, 6, 7, 8, 20, 21, 22};
  const auto rows = rows_to_check(positions, 1);
  EXPECT_EQ(rows, (std::vector<std::int64_t>{0, 3, 4, 6}));
  EXPECT_EQ(rows_to_check(positions, 100).size(), positions.size());
  EXPECT_TRUE(rows_to_check({}, 4).empty());
}

TEST(DemoTextTest, ShortTextIsAnErrorThatNamesBothLengths) {
  const std::string file = testing::TempDir() + "/short.txt";
  std::ofstream(file) << "too short";
  const auto text = load_text(file, 100);
  EXPECT_EQ(text.status().code(), StatusCode::invalid_argument);
  EXPECT_NE(text.status().message().find("has 9 bytes, 100 are needed"), std::string_view::npos);
  EXPECT_EQ(load_text("/nonexistent/file", 1).status().code(), StatusCode::not_found);
  std::remove(file.c_str());
}

}  // namespace
}  // namespace ringcomm::demo
