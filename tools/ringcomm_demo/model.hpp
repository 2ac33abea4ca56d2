// SPDX-License-Identifier: Apache-2.0
// A tiny deterministic "model" that turns text into Q, K and V as peaked as a trained model's (noise is not).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ringcomm/core/tensor_view.hpp"

namespace ringcomm::demo {

/// The attention shape of Llama-3-8B.
struct ModelShape {
  int q_heads = 32;
  int kv_heads = 8;
  int head_dim = 128;
  double rope_theta = 500000.0;  ///< Llama-3's
};

/// A position's embedding is the sum of seeded vectors of its last one to six bytes (a hash table per
/// length). The projections W_K = W_Q and W_V are applied to the tables once, so that a position's K or V is
/// a sum of six rows. Query heads of one KV group share W_K up to a sharpness per head, so that mixed-up
/// heads show in the check.
class Model {
 public:
  static constexpr int kGramBytesMax = 6;
  static constexpr int kBuckets = 2048;  ///< rows of each table
  static constexpr int kWidth = 64;      ///< embedding width before projection

  Model(const ModelShape& shape, std::uint64_t seed);

  /// Fill `view` [positions, heads, head_dim] bf16 for the given global positions; K and Q are rotated
  /// (RoPE).
  void fill_q(std::string_view text, const std::vector<std::int64_t>& positions,
              const TensorView& view) const;
  void fill_k(std::string_view text, const std::vector<std::int64_t>& positions,
              const TensorView& view) const;
  void fill_v(std::string_view text, const std::vector<std::int64_t>& positions,
              const TensorView& view) const;
  const ModelShape& shape() const { return shape_; }

 private:
  void gather(std::string_view text, std::int64_t position, const std::vector<float>& tables,
              std::vector<float>& row) const;
  void rotate(std::int64_t position, std::vector<float>& row) const;

  ModelShape shape_;
  std::vector<float> k_tables_, v_tables_;  ///< [kGramBytesMax, kBuckets, kv_heads * head_dim]
  std::vector<double> frequencies_;         ///< [head_dim / 2] radians per position
};

}  // namespace ringcomm::demo
