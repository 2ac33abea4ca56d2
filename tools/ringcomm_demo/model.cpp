// SPDX-License-Identifier: Apache-2.0
#include "model.hpp"

#include <algorithm>
#include <cmath>

namespace ringcomm::demo {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): seeded, stateless per call, the same on every machine.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Sum of four uniforms, unit variance: near enough to normal, and exact arithmetic everywhere.
float gaussian(std::uint64_t key) {
  const std::uint64_t bits = mix(key);
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<double>((bits >> (16 * i)) & 0xffffU) / 65536.0 - 0.5;
  return static_cast<float>(sum * std::sqrt(3.0));
}

/// Longer matches say more: the weight of an n-gram's vector grows with n. Self-match logit (all six lengths
/// agree) is kSharpness^2 * sum(weight^2) * kWidth / sqrt(128) before RoPE; chosen so that a row looks at
/// about ten keys (the median row of the GPL-3 text; 0.45 gives hundreds, 0.55 one).
constexpr float kWeights[Model::kGramBytesMax] = {0.35F, 0.6F, 0.8F, 0.9F, 1.0F, 1.1F};
constexpr float kSharpness = 0.48F;
constexpr float kHeadSharpness[] = {0.85F, 0.95F, 1.05F, 1.15F};

/// tables[n, bucket, :] = weight_n * (seeded vector of kWidth) * W, W [kWidth, columns] seeded, variance
/// 1/kWidth scaled.
std::vector<float> projected_tables(int columns, std::uint64_t seed, std::uint64_t projection_seed,
                                    float scale) {
  std::vector<float> projection(static_cast<std::size_t>(Model::kWidth * columns));
  for (std::size_t i = 0; i < projection.size(); ++i) {
    projection[i] = scale * gaussian(mix(projection_seed) + i) / std::sqrt(static_cast<float>(Model::kWidth));
  }
  const auto rows = static_cast<std::size_t>(Model::kGramBytesMax * Model::kBuckets);
  std::vector<float> tables(rows * static_cast<std::size_t>(columns), 0.0F);
  for (std::size_t row = 0; row < rows; ++row) {
    float* out = &tables[row * static_cast<std::size_t>(columns)];
    const float weight = kWeights[row / Model::kBuckets];
    for (int i = 0; i < Model::kWidth; ++i) {
      const float value = weight * gaussian(mix(seed) + row * Model::kWidth + static_cast<std::uint64_t>(i));
      const float* in = &projection[static_cast<std::size_t>(i * columns)];
      for (int c = 0; c < columns; ++c) out[c] += value * in[c];
    }
  }
  return tables;
}

void store(const TensorView& view, std::int64_t row, int head, const float* values, int dim, float factor) {
  auto* out = static_cast<bf16*>(view.data) + row * view.strides[0] + head * view.strides[1];
  for (int d = 0; d < dim; ++d) out[d] = to_bf16(values[d] * factor);
}

}  // namespace

Model::Model(const ModelShape& shape, std::uint64_t seed) : shape_(shape) {
  const int columns = shape.kv_heads * shape.head_dim;
  k_tables_ = projected_tables(columns, seed, seed + 1, kSharpness);
  v_tables_ = projected_tables(columns, seed, seed + 2, 1.0F);
  for (int i = 0; i < shape.head_dim / 2; ++i) {
    frequencies_.push_back(std::pow(shape.rope_theta, -2.0 * i / shape.head_dim));
  }
}

void Model::gather(std::string_view text, std::int64_t position, const std::vector<float>& tables,
                   std::vector<float>& row) const {
  const auto columns = row.size();
  std::fill(row.begin(), row.end(), 0.0F);
  std::uint64_t key = 0;
  for (int n = 0; n < kGramBytesMax && position - n >= 0; ++n) {
    key = mix(key ^ static_cast<unsigned char>(text[static_cast<std::size_t>(position - n)]));
    const auto bucket = static_cast<std::size_t>(n) * kBuckets + key % kBuckets;
    const float* in = &tables[bucket * columns];
    for (std::size_t c = 0; c < columns; ++c) row[c] += in[c];
  }
}

void Model::rotate(std::int64_t position, std::vector<float>& row) const {
  const auto half = static_cast<std::size_t>(shape_.head_dim / 2);
  for (std::size_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * frequencies_[i];
    const auto cosine = static_cast<float>(std::cos(angle));
    const auto sine = static_cast<float>(std::sin(angle));
    for (std::size_t head = 0; head < static_cast<std::size_t>(shape_.kv_heads); ++head) {
      float& low = row[head * 2 * half + i];
      float& high = row[head * 2 * half + half + i];
      const float rotated = low * cosine - high * sine;
      high = high * cosine + low * sine;
      low = rotated;
    }
  }
}

void Model::fill_q(std::string_view text, const std::vector<std::int64_t>& positions,
                   const TensorView& view) const {
  std::vector<float> row(static_cast<std::size_t>(shape_.kv_heads * shape_.head_dim));
  const int group = shape_.q_heads / shape_.kv_heads;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    gather(text, positions[i], k_tables_, row);
    rotate(positions[i], row);
    for (int head = 0; head < shape_.q_heads; ++head) {
      store(view, static_cast<std::int64_t>(i), head,
            &row[static_cast<std::size_t>(head / group * shape_.head_dim)], shape_.head_dim,
            kHeadSharpness[head % group % 4]);
    }
  }
}

void Model::fill_k(std::string_view text, const std::vector<std::int64_t>& positions,
                   const TensorView& view) const {
  std::vector<float> row(static_cast<std::size_t>(shape_.kv_heads * shape_.head_dim));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    gather(text, positions[i], k_tables_, row);
    rotate(positions[i], row);
    for (int head = 0; head < shape_.kv_heads; ++head) {
      store(view, static_cast<std::int64_t>(i), head, &row[static_cast<std::size_t>(head * shape_.head_dim)],
            shape_.head_dim, 1.0F);
    }
  }
}

void Model::fill_v(std::string_view text, const std::vector<std::int64_t>& positions,
                   const TensorView& view) const {
  std::vector<float> row(static_cast<std::size_t>(shape_.kv_heads * shape_.head_dim));
  for (std::size_t i = 0; i < positions.size(); ++i) {
    gather(text, positions[i], v_tables_, row);
    for (int head = 0; head < shape_.kv_heads; ++head) {
      store(view, static_cast<std::int64_t>(i), head, &row[static_cast<std::size_t>(head * shape_.head_dim)],
            shape_.head_dim, 1.0F);
    }
  }
}

}  // namespace ringcomm::demo
