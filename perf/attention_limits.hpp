// SPDX-License-Identifier: Apache-2.0
// What one rank of a ring attention computes, with all keys in its own memory: the floor that communication
// is measured against. Same kernel, same queries, nobody else.
#pragma once

#include <optional>
#include <vector>

#include "attention_data.hpp"
#include "attention_pieces.hpp"
#include "options.hpp"
#include "ringcomm/attention/ring_attention.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"

namespace ringcomm::perf {

class AttentionLimits {
 public:
  /// For the queries and the shards of `ring`, which must outlive it. Holds all K and V twice.
  static Result<AttentionLimits> create(const RingAttention& ring, int ranks, int rank,
                                        const Placement& placement);

  /// Writes the memory that the next call of run() reads, as the owner of a block writes it; untimed.
  void rewrite(Local local);
  /// one_pass: all keys in global order, in as few kernel calls as the mask allows. partials: the shards one
  /// by one, each normalised to an fp32 partial, then one merge. Writes out().
  Status run(Local local);
  const TensorView& out() const { return out_; }

 private:
  struct Shard {
    TensorView k, v;
    std::vector<AttentionPiece> pieces;
    SoftmaxPartial partial;
    TensorView out, lse;  ///< the partial as attention writes it: [rows, heads, dim] and [heads, rows]
  };
  using Bytes = std::vector<std::byte>;

  explicit AttentionLimits(LocalAttention attention) : attention_(std::move(attention)) {}
  TensorView take(DType dtype, std::initializer_list<std::int64_t> shape);
  void add_shard(const ShardMap& map, Mask mask, int rank, int source);
  Status run_one_pass();
  Status run_partials();

  LocalAttention attention_;
  AttentionShape shape_;
  std::vector<Bytes> memory_;
  TensorView q_, k_, v_, out_, lse_;
  std::vector<AttentionPiece> pieces_;
  std::vector<Shard> shards_;
  std::vector<SoftmaxPartial> partials_;
  SoftmaxPartial merged_;
  std::vector<TensorView> inputs_[2];  ///< by Local: what rewrite() writes
  std::vector<Bytes> pristine_[2];
};

}  // namespace ringcomm::perf
