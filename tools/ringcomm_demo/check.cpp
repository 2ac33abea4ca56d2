// SPDX-License-Identifier: Apache-2.0
#include "check.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ringcomm::demo {
namespace {

/// One head of K or V of all tokens as float (exact: bf16 widens).
std::vector<float> widen_head(const std::vector<bf16>& all, std::int64_t tokens, int heads, int head,
                              int dim) {
  std::vector<float> out(static_cast<std::size_t>(tokens * dim));
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (int d = 0; d < dim; ++d) {
      out[static_cast<std::size_t>(t * dim + d)] =
          to_float(all[static_cast<std::size_t>((t * heads + head) * dim + d)]);
    }
  }
  return out;
}

double dot(const double* a, const float* b, int dim) {
  double lanes[8] = {};
  for (int d = 0; d < dim; d += 8) {
    for (int lane = 0; lane < 8; ++lane) lanes[lane] += a[d + lane] * static_cast<double>(b[d + lane]);
  }
  return std::accumulate(std::begin(lanes), std::end(lanes), 0.0);
}

struct OracleRow {
  std::vector<double> out;
  double lse = 0;
  double effective_keys = 0;
};

/// Softmax over keys 0..position of one query row.
OracleRow attend(const std::vector<double>& query, const std::vector<float>& k, const std::vector<float>& v,
                 std::int64_t position, int dim, double scale) {
  std::vector<double> weight(static_cast<std::size_t>(position + 1));
  double largest = -INFINITY;
  for (std::int64_t j = 0; j <= position; ++j) {
    weight[static_cast<std::size_t>(j)] =
        scale * dot(query.data(), &k[static_cast<std::size_t>(j * dim)], dim);
    largest = std::max(largest, weight[static_cast<std::size_t>(j)]);
  }
  OracleRow row{.out = std::vector<double>(static_cast<std::size_t>(dim), 0.0)};
  double sum = 0;
  double weighted_logits = 0;
  for (std::int64_t j = 0; j <= position; ++j) {
    const double logit = weight[static_cast<std::size_t>(j)] - largest;
    const double p = std::exp(logit);
    sum += p;
    weighted_logits += p * logit;
    const float* values = &v[static_cast<std::size_t>(j * dim)];
    for (int d = 0; d < dim; ++d) row.out[static_cast<std::size_t>(d)] += p * static_cast<double>(values[d]);
  }
  for (double& value : row.out) value /= sum;
  row.lse = largest + std::log(sum);
  row.effective_keys = std::exp(std::log(sum) - weighted_logits / sum);
  return row;
}

void compare_row(const OracleRow& oracle, const bf16* out, float lse, CheckSums& sums) {
  sums.rows += 1;
  sums.effective_keys.push_back(oracle.effective_keys);
  sums.lse_error_max = std::max(sums.lse_error_max, std::abs(static_cast<double>(lse) - oracle.lse));
  if (!std::isfinite(lse)) sums.not_finite += 1;
  for (std::size_t d = 0; d < oracle.out.size(); ++d) {
    const double expected = oracle.out[d];
    const double error = static_cast<double>(to_float(out[d])) - expected;
    const double rounding = static_cast<double>(to_float(to_bf16(static_cast<float>(expected)))) - expected;
    if (!std::isfinite(error)) {
      sums.not_finite += 1;
      continue;
    }
    sums.error_squares += error * error;
    sums.value_squares += expected * expected;
    sums.rounding_squares += rounding * rounding;
    sums.error_max = std::max(sums.error_max, std::abs(error));
  }
}

}  // namespace

std::vector<std::int64_t> rows_to_check(const std::vector<std::int64_t>& positions, std::int64_t count) {
  const auto total = static_cast<std::int64_t>(positions.size());
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < total; ++i) {
    const bool opens =
        i == 0 || positions[static_cast<std::size_t>(i)] != positions[static_cast<std::size_t>(i - 1)] + 1;
    if (opens && i > 0) rows.push_back(i - 1);
    if (opens || i + 1 == total) rows.push_back(i);
  }
  for (std::int64_t i = 0; i < std::min(count, total); ++i)
    rows.push_back(i * total / std::min(count, total));
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

CheckSums check_rows(const Model& model, std::string_view text, const std::vector<std::int64_t>& positions,
                     const std::vector<std::int64_t>& rows, const TensorView& out, const TensorView& lse) {
  const ModelShape& shape = model.shape();
  const auto tokens = rows.empty() ? 0 : positions[static_cast<std::size_t>(rows.back())] + 1;
  const int dim = shape.head_dim;
  std::vector<std::int64_t> all(static_cast<std::size_t>(tokens));
  std::iota(all.begin(), all.end(), 0);
  std::vector<bf16> k(static_cast<std::size_t>(tokens * shape.kv_heads * dim));
  std::vector<bf16> v(k.size());
  model.fill_k(text, all, TensorView::contiguous(k.data(), DType::bfloat16, {tokens, shape.kv_heads, dim}));
  model.fill_v(text, all, TensorView::contiguous(v.data(), DType::bfloat16, {tokens, shape.kv_heads, dim}));
  std::vector<std::int64_t> checked;
  for (const std::int64_t row : rows) checked.push_back(positions[static_cast<std::size_t>(row)]);
  const auto count = static_cast<std::int64_t>(rows.size());
  std::vector<bf16> q(static_cast<std::size_t>(count * shape.q_heads * dim));
  model.fill_q(text, checked, TensorView::contiguous(q.data(), DType::bfloat16, {count, shape.q_heads, dim}));

  CheckSums sums;
  const double scale = 1.0 / std::sqrt(static_cast<double>(dim));
  std::vector<double> query(static_cast<std::size_t>(dim));
  for (int group = 0; group < shape.kv_heads; ++group) {
    const std::vector<float> k_head = widen_head(k, tokens, shape.kv_heads, group, dim);
    const std::vector<float> v_head = widen_head(v, tokens, shape.kv_heads, group, dim);
    const int heads = shape.q_heads / shape.kv_heads;
    for (int head = group * heads; head < (group + 1) * heads; ++head) {
      for (std::int64_t i = 0; i < count; ++i) {
        for (int d = 0; d < dim; ++d) {
          query[static_cast<std::size_t>(d)] = static_cast<double>(
              to_float(q[static_cast<std::size_t>((i * shape.q_heads + head) * dim + d)]));
        }
        const std::int64_t row = rows[static_cast<std::size_t>(i)];
        const OracleRow oracle =
            attend(query, k_head, v_head, checked[static_cast<std::size_t>(i)], dim, scale);
        compare_row(oracle, static_cast<const bf16*>(out.data) + row * out.strides[0] + head * out.strides[1],
                    static_cast<const float*>(lse.data)[head * lse.strides[0] + row * lse.strides[1]], sums);
      }
    }
  }
  return sums;
}

}  // namespace ringcomm::demo
