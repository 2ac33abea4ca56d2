// SPDX-License-Identifier: Apache-2.0
#include "support/oracle_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ringcomm::test {
namespace {

std::vector<std::int64_t> or_counting(const std::vector<std::int64_t>& given, std::int64_t count) {
  if (!given.empty()) return given;
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// [rows, dim] of one head.
std::vector<double> head_of(const TensorView& tensor, std::int64_t head) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(tensor.shape[0] * tensor.shape[2]));
  for (std::int64_t row = 0; row < tensor.shape[0]; ++row) {
    for (std::int64_t d = 0; d < tensor.shape[2]; ++d) values.push_back(element(tensor, row, head, d));
  }
  return values;
}

/// Four sums side by side, or the additions would wait for each other.
double dot(const double* a, const double* b, std::size_t count) {
  double sums[4] = {};
  for (std::size_t i = 0; i < count; ++i) sums[i % 4] += a[i] * b[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Scores of the visible keys; their indices go to `seen`.
std::vector<double> scores_of_row(const OracleProblem& problem, const std::vector<std::int64_t>& k_global,
                                  const std::vector<double>& k, std::int64_t row, std::int64_t head,
                                  std::int64_t position, std::vector<std::size_t>& seen) {
  const auto dim = static_cast<std::size_t>(problem.q.shape[2]);
  std::vector<double> q(dim);
  for (std::size_t d = 0; d < dim; ++d) q[d] = element(problem.q, row, head, static_cast<std::int64_t>(d));
  std::vector<double> scores;
  seen.clear();
  for (std::size_t j = 0; j < k_global.size(); ++j) {
    const std::int64_t distance = position - k_global[j];
    if (distance < problem.band.lower || distance > problem.band.upper) continue;
    seen.push_back(j);
    scores.push_back(problem.scale * dot(q.data(), k.data() + j * dim, dim));
  }
  return scores;
}

/// Turns scores into softmax weights and returns the log-sum-exp.
double normalise(std::vector<double>& scores) {
  double max = -std::numeric_limits<double>::infinity();
  for (const double score : scores) max = score > max ? score : max;
  if (std::isinf(max) && max < 0) max = 0;
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - max);
  for (double& score : scores) score = sum == 0 ? 0 : score / sum;
  return sum == 0 ? -std::numeric_limits<double>::infinity() : max + std::log(sum);
}

}  // namespace

double element(const TensorView& tensor, std::int64_t row, std::int64_t head, std::int64_t dim) {
  const std::int64_t at = row * tensor.strides[0] + head * tensor.strides[1] + dim * tensor.strides[2];
  if (tensor.dtype == DType::bfloat16) return double{to_float(static_cast<const bf16*>(tensor.data)[at])};
  if (tensor.dtype == DType::float16) return double{to_float(static_cast<const fp16*>(tensor.data)[at])};
  return double{static_cast<const float*>(tensor.data)[at]};
}

OracleResult oracle_attention(const OracleProblem& problem) {
  const auto q_global = or_counting(problem.q_global, problem.q.shape[0]);
  const auto k_global = or_counting(problem.k_global, problem.k.shape[0]);
  const auto rows = or_counting(problem.rows, problem.q.shape[0]);
  const std::int64_t q_heads = problem.q.shape[1];
  const std::int64_t group = q_heads / problem.k.shape[1];
  const auto dim = static_cast<std::size_t>(problem.q.shape[2]);
  OracleResult result;
  result.out.resize(rows.size() * static_cast<std::size_t>(q_heads) * dim);
  std::vector<double> k, v;
  std::vector<std::size_t> seen;
  for (std::int64_t head = 0; head < q_heads; ++head) {
    if (head % group == 0) k = head_of(problem.k, head / group), v = head_of(problem.v, head / group);
    for (std::size_t index = 0; index < rows.size(); ++index) {
      const std::int64_t position = q_global[static_cast<std::size_t>(rows[index])];
      auto weights = scores_of_row(problem, k_global, k, rows[index], head, position, seen);
      result.lse.push_back(normalise(weights));
      double* out =
          &result.out[(index * static_cast<std::size_t>(q_heads) + static_cast<std::size_t>(head)) * dim];
      for (std::size_t key = 0; key < seen.size(); ++key) {
        for (std::size_t d = 0; d < dim; ++d) out[d] += weights[key] * v[seen[key] * dim + d];
      }
    }
  }
  return result;
}

}  // namespace ringcomm::test
