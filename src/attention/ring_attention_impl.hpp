// SPDX-License-Identifier: Apache-2.0
// What a RingAttention holds, shared by the files that create it and those that run it.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "attention/attention_plan.hpp"
#include "attention/block_kernel.hpp"
#include "attention/tile_work.hpp"
#include "ringcomm/attention/ring_attention.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "ringcomm/device/worker_team.hpp"

namespace ringcomm::inline v0 {
namespace attention {

/// The five tensors of one forward.
struct Tensors {
  TensorView q, k, v, out, lse;
};

/// Memory behind the object's own tensors: K and V in one window, V right behind K; the rest is local.
struct OwnTensors {
  Window kv;
  std::shared_ptr<Segment> local;  ///< q, out and lse
  Tensors views;
};
Result<OwnTensors> allocate_tensors(Communicator& comm, const AttentionSpec& spec, std::int64_t q_rows,
                                    std::int64_t kv_rows);

/// invalid_argument naming tensor, axis and both values; `who` was created for `expected`.
Status check_tensor(std::string_view name, const TensorView& given, const TensorView& expected,
                    std::string_view who);
/// All five, for a ring attention.
Status check_tensors(const Tensors& given, const Tensors& expected);

/// True if V lies right behind K and both are contiguous: one message without packing.
bool are_neighbours(const TensorView& k, const TensorView& v);

/// Sums the time spent in block kernels; the rest of a forward is waiting.
class KernelClock {
 public:
  explicit KernelClock(std::int64_t& total_ns) : total_ns_(total_ns), start_ns_(now_ns()) {}
  ~KernelClock() { total_ns_ += now_ns() - start_ns_; }
  KernelClock(const KernelClock&) = delete;
  KernelClock& operator=(const KernelClock&) = delete;

 private:
  std::int64_t& total_ns_;
  std::int64_t start_ns_;
};

}  // namespace attention

struct RingAttention::Impl {
  Impl(Channel& used_channel, const AttentionSpec& used_spec, ShardMap map)
      : channel(used_channel), spec(used_spec), shards(std::move(map)) {}

  Channel& channel;
  AttentionSpec spec;  ///< strategy and scale resolved
  ShardMap shards;
  plan::PlanFacts facts;
  plan::RankPlan slice;  ///< this rank's, as verified
  std::vector<std::int64_t> q_positions, kv_positions;
  std::vector<attention::SourceWork> work;  ///< [ranks], by source; replicated: only the own entry
  std::int64_t visible_pairs = 0;
  std::uint64_t bytes_copied = 0;  ///< by one forward, from the slice
  attention::OwnTensors own;
  std::unique_ptr<WorkerTeam> team;
  std::unique_ptr<attention::BlockKernel> kernel;
  std::optional<RingRotation> rotation;  ///< ring strategies: bound to `rotated`
  attention::Tensors rotated;
  std::shared_ptr<Segment> gathered;  ///< all_gather strategy: all blocks in rank order
  std::vector<std::int64_t> gathered_counts;
  ArenaBlock packed;      ///< all_gather strategy: K and V that were no neighbours
  Window partial_window;  ///< replicated queries
  SoftmaxPartial partial;
  std::int64_t kernel_ns = 0;
  AttentionReport report;

  std::uint64_t signature() const;
  Status prepare_plan(plan::Access access);
  Status prepare_memory(Communicator& comm, CpuLevel level);
  Status prepare_strategy(Communicator& comm);

  /// Binds the rotation to k and v unless it is; frees the slots of the last one first.
  Status bind_rotation(const TensorView& k, const TensorView& v);
  Status forward(const attention::Tensors& tensors);
  Status forward_ring(const attention::Tensors& tensors);
  Status forward_gathered(const attention::Tensors& tensors);
  Status forward_replicated(const attention::Tensors& tensors);
  Result<TensorView> kv_message(const TensorView& k, const TensorView& v);
  Status merge_partials(const attention::Tensors& tensors);

  void begin(const TensorView& q);
  void accumulate(int source, std::int64_t row_first, const TensorView& k, const TensorView& v);
  void finish(const TensorView& out, const TensorView& lse);
};

}  // namespace ringcomm::inline v0
