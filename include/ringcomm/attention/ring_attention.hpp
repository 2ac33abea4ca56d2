// SPDX-License-Identifier: Apache-2.0
// Attention over a sequence sharded on N ranks, in three calls: spec, create, forward.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "ringcomm/attention/layout.hpp"
#include "ringcomm/attention/mask.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/comm/channel.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/cpu_dispatch.hpp"
#include "ringcomm/core/tensor_view.hpp"
#include "ringcomm/plan/verify.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

enum class AttentionStrategy : std::uint8_t {
  automatic,    ///< ring_direct where the transport reads peers' memory, else ring_relay
  ring_direct,  ///< no KV copy
  ring_relay,   ///< two KV slots
  all_gather,   ///< all KV on every rank: N times the memory, for comparison and short sequences
};

enum class QueryPlacement : std::uint8_t {
  sharded,     ///< like KV: the ring
  replicated,  ///< every rank has all queries: local partials, then softmax_all_reduce; no rotation
};

struct AttentionSpec {
  std::int64_t tokens = 0;  ///< L, over all ranks; any value >= 0
  int q_heads = 1;
  int kv_heads = 1;    ///< divides q_heads
  int head_dim = 128;  ///< 32, 64, 96, 128, 192 or 256
  DType dtype = DType::bfloat16;
  Mask mask = Mask::causal;
  Layout layout = Layout::zigzag;
  AttentionStrategy strategy = AttentionStrategy::automatic;
  QueryPlacement queries = QueryPlacement::sharded;
  float scale = 0.0F;  ///< 0 means 1/sqrt(head_dim)
  plan::Overlap overlap = plan::Overlap::on;
  std::size_t chunk_bytes = 0;            ///< relay only
  int workers = 1;                        ///< compute threads of this rank, the caller among them
  std::chrono::milliseconds deadline{0};  ///< of a forward(); 0: the communicator's, as create() takes
};

/// What one forward() did, on this rank.
struct AttentionReport {
  double seconds = 0;              ///< wall time of forward()
  double wait_seconds = 0;         ///< of it, not spent in block kernels
  std::int64_t visible_pairs = 0;  ///< (query, key) pairs per head computed by this rank
  double flop = 0;                 ///< 4 * head_dim * q_heads * visible_pairs
  std::uint64_t bytes_copied = 0;  ///< KV bytes pulled or received
  CpuLevel level = CpuLevel::scalar;
};

/// Collective. Unsupported combinations are refused by create() naming the clause; nothing is silently
/// ignored. Goes before its communicator does; one thread at a time.
class RingAttention {
 public:
  /// ok, or not_available / invalid_argument with the clause; no rank, no communication.
  static Status supports(const AttentionSpec& spec, int ranks);
  /// Collective. mismatch, with the same sentence on all ranks, names the first field that differs and both
  /// values. Fails on all ranks or on none: if one runs out of memory, the others get aborted naming it.
  /// Allocates the tensors, the running state and the slots; rank 0's dispatch level is used everywhere.
  static Result<RingAttention> create(Communicator& comm, const AttentionSpec& spec);
  RingAttention(RingAttention&&) noexcept;
  RingAttention& operator=(RingAttention&&) noexcept;
  ~RingAttention();

  /// This rank's tensors. q and out [rows, q_heads, head_dim]; k and v [rows, kv_heads, head_dim] on a
  /// window; lse [q_heads, rows] fp32, natural log, -inf where a row sees no key. With replicated queries q,
  /// out and lse have all tokens, k and v this rank's shard.
  TensorView q() const;
  TensorView k() const;
  TensorView v() const;
  TensorView out() const;
  TensorView lse() const;
  /// [rows of q] and [rows of k] global positions, for RoPE and loading.
  const std::vector<std::int64_t>& positions() const;
  const std::vector<std::int64_t>& kv_positions() const;

  /// Uses the tensors above. Blocks. On failure out and lse are invalid.
  Status forward();
  /// Own tensors of the same shapes (any strides with a contiguous last axis), which may differ between ranks
  /// in where they lie. k and v are packed once per call if they are not contiguous neighbours in a window;
  /// other k or v than in the last call make a new rotation (allocates). Wrong shapes: invalid_argument, and
  /// nothing has happened; the peers wait for this rank's forward.
  Status forward(const TensorView& q, const TensorView& k, const TensorView& v, const TensorView& out,
                 const TensorView& lse);
  /// The same tiles on this rank's own KV, without any peer: the outputs mean nothing. Wall time of forward()
  /// minus this is the exposed communication.
  Status rehearse();

  const AttentionReport& report() const;
  const AttentionSpec& spec() const;
  const ShardMap& shards() const;
  /// The verified plan's numbers; over more than 64 ranks those of this rank's slice, unverified.
  const plan::PlanFacts& facts() const;
  /// Bytes of KV slots, running state and scratch that this rank holds beside q, k, v, out and lse.
  std::size_t extra_bytes() const;

 private:
  struct Impl;
  explicit RingAttention(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// All ranks' slices with tiles, for the verifier, tools and tests. `order`: RotationRule::order, of the ring
/// strategies.
Result<std::vector<plan::RankPlan>> attention_plan(const AttentionSpec& spec, int ranks, plan::Access access,
                                                   const std::vector<int>& order = {});
/// What those slices must cover.
Result<plan::Coverage> attention_coverage(const AttentionSpec& spec, int ranks);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
