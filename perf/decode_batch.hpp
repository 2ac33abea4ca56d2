// SPDX-License-Identifier: Apache-2.0
// The local half of a decode step, for ringcomm and for its MPI peers: one new token of each sequence against
// this rank's shard of that sequence's keys.
#pragma once

#include <vector>

#include "attention_data.hpp"
#include "ringcomm/attention/local_attention.hpp"

namespace ringcomm::perf {

class DecodeBatch {
 public:
  struct Spec {
    AttentionShape shape;
    std::int64_t batch = 1;   ///< sequences
    std::int64_t tokens = 1;  ///< of each sequence, over all ranks
    int ranks = 1, rank = 0;
    bool peers_read_out = false;
    Placement placement{};
  };
  static Result<DecodeBatch> create(const Spec& spec);

  /// Partial rows are (sequence, query head) pairs.
  std::int64_t rows() const { return spec_.batch * spec_.shape.q_heads; }
  /// Writes out [rows, head_dim] fp32 and lse [rows].
  Status attend(float* out, float* lse);
  /// Elements of merged rows (all ranks' keys) that are wrong, in a few sequences and heads.
  std::int64_t count_wrong(const float* out) const;

 private:
  struct Sequence {
    TensorView q, k, v;
  };
  DecodeBatch(const Spec& spec, LocalAttention attention) : spec_(spec), attention_(std::move(attention)) {}
  std::int64_t first_token() const { return spec_.rank * spec_.tokens / spec_.ranks; }
  std::int64_t shard_tokens() const { return (spec_.rank + 1) * spec_.tokens / spec_.ranks - first_token(); }
  void fill();

  Spec spec_;
  LocalAttention attention_;
  std::vector<std::byte> memory_;
  std::vector<Sequence> sequences_;
};

}  // namespace ringcomm::perf
