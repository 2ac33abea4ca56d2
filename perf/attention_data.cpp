// SPDX-License-Identifier: Apache-2.0
#include "attention_data.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "elements.hpp"
#include "pattern.hpp"

namespace ringcomm::perf {
namespace {

float value(AttentionTensor tensor, std::int64_t position, std::int64_t head, std::int64_t dim,
            std::int64_t d) {
  return pattern(static_cast<std::uint64_t>(tensor) << 32 | static_cast<std::uint64_t>(position),
                 static_cast<std::uint64_t>(head * dim + d));
}

}  // namespace

void fill_attention(const TensorView& view, const std::vector<std::int64_t>& positions,
                    AttentionTensor tensor) {
  for (std::int64_t row = 0; row < view.shape[0]; ++row) {
    const std::int64_t position = positions[static_cast<std::size_t>(row)];
    for (std::int64_t head = 0; head < view.shape[1]; ++head) {
      for (std::int64_t d = 0; d < view.shape[2]; ++d) {
        store_element(view.dtype, view.data, row * view.strides[0] + head * view.strides[1] + d,
                      static_cast<double>(value(tensor, position, head, view.shape[2], d)));
      }
    }
  }
}

std::vector<std::int64_t> positions_from(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(count));
  std::iota(positions.begin(), positions.end(), first);
  return positions;
}

std::int64_t count_wrong_elements(const AttentionShape& shape, const AttentionRow& expected,
                                  const TensorView& out, std::int64_t row) {
  const std::int64_t dim = shape.head_dim;
  const auto size = static_cast<std::size_t>(dim);
  const int kv_head = expected.head / (shape.q_heads / shape.kv_heads);
  std::vector<double> query(size), sums(size, 0.0);
  for (std::int64_t d = 0; d < dim; ++d) {
    query[static_cast<std::size_t>(d)] =
        static_cast<double>(value(AttentionTensor::q, expected.position, expected.head, dim, d));
  }
  const double scale = 1 / std::sqrt(static_cast<double>(dim));
  double weights = 0;
  for (std::int64_t key = expected.key_first; key < expected.key_first + expected.key_count; ++key) {
    double score = 0;
    for (std::int64_t d = 0; d < dim; ++d) {
      score += query[static_cast<std::size_t>(d)] *
               static_cast<double>(value(AttentionTensor::k, key, kv_head, dim, d));
    }
    const double weight = std::exp(score * scale);  // |score| <= dim: far from overflow
    weights += weight;
    for (std::int64_t d = 0; d < dim; ++d) {
      sums[static_cast<std::size_t>(d)] +=
          weight * static_cast<double>(value(AttentionTensor::v, key, kv_head, dim, d));
    }
  }
  const double bound = shape.dtype == DType::float32 ? 1e-5 : shape.dtype == DType::float16 ? 2e-3 : 8e-3;
  std::int64_t wrong = 0;
  for (std::int64_t d = 0; d < dim; ++d) {
    const double seen =
        load_element(out.dtype, out.data, row * out.strides[0] + expected.head * out.strides[1] + d);
    wrong += std::abs(seen - sums[static_cast<std::size_t>(d)] / weights) <= bound ? 0 : 1;
  }
  return wrong;
}

std::vector<std::int64_t> sample_rows(std::int64_t rows) {
  std::vector<std::int64_t> sampled;
  for (std::int64_t i = 0; i < std::min<std::int64_t>(rows, 4); ++i)
    sampled.push_back(rows <= 4 ? i : i * (rows - 1) / 3);
  return sampled;
}

std::vector<int> sample_heads(int heads) {
  std::vector<int> sampled;
  for (int head = 0; head < heads; head += std::max(1, heads / 4)) sampled.push_back(head);
  return sampled;
}

}  // namespace ringcomm::perf
