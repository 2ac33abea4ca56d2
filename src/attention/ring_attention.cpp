// SPDX-License-Identifier: Apache-2.0
// Creation of a RingAttention and its accessors; ring_forward.cpp runs it.
#include "ringcomm/attention/ring_attention.hpp"

#include <cmath>

#include "attention/ring_attention_impl.hpp"
#include "attention/spec_check.hpp"
#include "comm/guard.hpp"
#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

/// The verifier's proof costs more than linear in ranks; beyond this many, numbers come from the own slice.
constexpr int kVerifiedRanksMax = 64;

std::uint64_t bytes_received(const plan::RankPlan& slice) {
  std::uint64_t bytes = 0;
  for (const plan::Op& op : slice.ops) {
    if (op.kind == plan::OpKind::pull || op.kind == plan::OpKind::recv) bytes += op.bytes;
  }
  return bytes;
}

std::vector<std::int64_t> all_positions(std::int64_t tokens) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(tokens));
  for (std::size_t row = 0; row < positions.size(); ++row) positions[row] = static_cast<std::int64_t>(row);
  return positions;
}

/// What lower rooms refuse does not know whose attention it was.
Status on_rank(int rank, const Status& status) {
  if (status.is_ok()) return status;
  return {status.code(), concat("ring attention on rank ", rank, ": ", status.message())};
}

bool is_same_schedule(const plan::RankPlan& executed, const plan::RankPlan& verified) {
  if (executed.ops.size() != verified.ops.size() || executed.slots != verified.slots) return false;
  for (std::size_t index = 0; index < executed.ops.size(); ++index) {
    plan::Op op = verified.ops[index];
    op.tile_first = executed.ops[index].tile_first;
    op.tile_count = executed.ops[index].tile_count;
    if (op != executed.ops[index]) return false;
  }
  return true;
}

}  // namespace

std::uint64_t RingAttention::Impl::signature() const { return attention::hash(attention::values_of(spec)); }

Status RingAttention::Impl::prepare_plan(plan::Access access) {
  const int rank = channel.rank();
  if (spec.queries == QueryPlacement::sharded) {
    const bool takes_relay = spec.strategy == AttentionStrategy::automatic && channel.prefers_relay();
    spec.strategy = takes_relay ? AttentionStrategy::ring_relay : attention::resolved(spec.strategy, access);
  }
  if (spec.strategy == AttentionStrategy::ring_direct && access == plan::Access::two_sided) {
    return Status::not_available(
        "strategy ring_direct needs a transport that reads peers' memory in place (take ring_relay)");
  }
  if (spec.scale == 0.0F) spec.scale = 1.0F / std::sqrt(static_cast<float>(spec.head_dim));
  RINGCOMM_TRY_ASSIGN(slice, attention::attention_slice(spec, shards, access, rank, channel.ring_order()));
  if (channel.size() <= kVerifiedRanksMax) {
    RINGCOMM_TRY_ASSIGN(const auto slices,
                        attention_plan(spec, channel.size(), access, channel.ring_order()));
    RINGCOMM_TRY_ASSIGN(const auto coverage, attention_coverage(spec, channel.size()));
    RINGCOMM_TRY_ASSIGN(facts, plan::verify(slices, coverage));
  } else {
    facts = {.bytes_moved = bytes_received(slice),
             .arena_bytes_max = slice.arena_bytes(),
             .tiles = slice.tiles.size(),
             .operations = slice.ops.size()};
  }
  const bool is_replicated = spec.queries == QueryPlacement::replicated;
  kv_positions = shards.positions(rank);
  q_positions = is_replicated ? all_positions(spec.tokens) : kv_positions;
  work.resize(static_cast<std::size_t>(channel.size()));
  for (int source = 0; source < channel.size(); ++source) {
    if (is_replicated && source != rank) continue;
    auto& entry = work[static_cast<std::size_t>(source)];
    entry = attention::resolve_tiles(spec, shards, source, attention::tiles_of(spec, shards, rank, source));
    visible_pairs += entry.visible_pairs;
  }
  return {};
}

Status RingAttention::Impl::prepare_memory(Communicator& comm, CpuLevel level) {
  const auto q_rows = static_cast<std::int64_t>(q_positions.size());
  RINGCOMM_TRY_ASSIGN(
      own, attention::allocate_tensors(comm, spec, q_rows, static_cast<std::int64_t>(kv_positions.size())));
  RINGCOMM_TRY_ASSIGN(team, WorkerTeam::create(spec.workers, comm.placement()));
  const attention::KernelShape shape{.q_rows = q_rows,
                                     .q_heads = spec.q_heads,
                                     .kv_heads = spec.kv_heads,
                                     .head_dim = spec.head_dim,
                                     .dtype = spec.dtype,
                                     .scale = spec.scale,
                                     .peers_read_out = spec.queries == QueryPlacement::replicated};
  RINGCOMM_TRY_ASSIGN(kernel, attention::BlockKernel::create(shape, level, *team));
  return {};
}

Status RingAttention::Impl::prepare_strategy(Communicator& comm) {
  if (spec.queries == QueryPlacement::replicated) {
    const std::int64_t rows = spec.tokens * spec.q_heads;
    RINGCOMM_TRY_ASSIGN(partial_window, comm.allocate(std::max<std::size_t>(
                                            SoftmaxPartial::bytes_needed(rows, spec.head_dim), 64)));
    RINGCOMM_TRY_ASSIGN(partial, SoftmaxPartial::in(partial_window, rows, spec.head_dim));
    return {};
  }
  if (spec.strategy == AttentionStrategy::all_gather) {
    RINGCOMM_TRY_ASSIGN(gathered, Segment::create({.bytes = attention::kv_bytes(spec, spec.tokens),
                                                   .kind = SegmentKind::local,
                                                   .memory_node = comm.placement().memory_node,
                                                   .name = "ringcomm-gathered"}));
    for (int source = 0; source < channel.size(); ++source)
      gathered_counts.push_back(2 * shards.rows_of(source) * spec.kv_heads * spec.head_dim);
    bytes_copied = attention::kv_bytes(spec, spec.tokens - shards.rows_of(channel.rank()));
    return {};
  }
  RINGCOMM_TRY(bind_rotation(own.views.k, own.views.v));
  bytes_copied = bytes_received(slice);
  if (!is_same_schedule(rotation->slice(), slice)) {
    return Status::internal("ring attention: the rotation's plan is not the one that was verified");
  }
  return {};
}

Status RingAttention::Impl::bind_rotation(const TensorView& k, const TensorView& v) {
  const bool is_bound = rotation && rotated.k.data == k.data && rotated.k.strides == k.strides &&
                        rotated.v.data == v.data && rotated.v.strides == v.strides;
  if (is_bound) return {};
  rotation.reset();
  const bool is_direct = spec.strategy == AttentionStrategy::ring_direct;
  RotationOptions options{.mode = is_direct ? RotationChoice::direct : RotationChoice::relay,
                          .overlap = spec.overlap,
                          .chunk_bytes = spec.chunk_bytes,
                          .needed = attention::needed_blocks(shards, band_of(spec.mask)),
                          .op = OpCode::ring_attention,
                          .signature = signature(),
                          .deadline = spec.deadline};
  for (int rank = 0; rank < channel.size(); ++rank) options.rows.push_back(shards.rows_of(rank));
  RINGCOMM_TRY_ASSIGN(RingRotation created, RingRotation::create(channel, k, v, options));
  rotation = std::move(created);
  rotated.k = k;
  rotated.v = v;
  return {};
}

Result<RingAttention> RingAttention::create(Communicator& comm, const AttentionSpec& spec) {
  Channel& channel = comm.channel();
  RINGCOMM_TRY_ASSIGN(const CpuLevel level, attention::agree_on_spec(channel, spec));
  const auto prepare = [&]() -> Result<RingAttention> {
    RINGCOMM_TRY(supports(spec, comm.size()));
    RINGCOMM_TRY_ASSIGN(ShardMap map, ShardMap::create(spec.layout, spec.tokens, comm.size()));
    auto impl = std::make_unique<Impl>(channel, spec, std::move(map));
    const bool reads_peers = channel.capabilities().direct_read;
    RINGCOMM_TRY(impl->prepare_plan(reads_peers ? plan::Access::direct_read : plan::Access::two_sided));
    RINGCOMM_TRY(on_rank(comm.rank(), impl->prepare_memory(comm, level)));
    RINGCOMM_TRY(on_rank(comm.rank(), impl->prepare_strategy(comm)));
    return RingAttention(std::move(impl));
  };
  Result<RingAttention> attention = comm::guard("ring attention", prepare);
  RINGCOMM_TRY(attention::agree_on_success(channel, attention.status()));
  return attention;
}

RingAttention::RingAttention(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RingAttention::RingAttention(RingAttention&&) noexcept = default;
RingAttention& RingAttention::operator=(RingAttention&&) noexcept = default;
RingAttention::~RingAttention() = default;

TensorView RingAttention::q() const { return impl_->own.views.q; }
TensorView RingAttention::k() const { return impl_->own.views.k; }
TensorView RingAttention::v() const { return impl_->own.views.v; }
TensorView RingAttention::out() const { return impl_->own.views.out; }
TensorView RingAttention::lse() const { return impl_->own.views.lse; }
const std::vector<std::int64_t>& RingAttention::positions() const { return impl_->q_positions; }
const std::vector<std::int64_t>& RingAttention::kv_positions() const { return impl_->kv_positions; }
const AttentionReport& RingAttention::report() const { return impl_->report; }
const AttentionSpec& RingAttention::spec() const { return impl_->spec; }
const ShardMap& RingAttention::shards() const { return impl_->shards; }
const plan::PlanFacts& RingAttention::facts() const { return impl_->facts; }

std::size_t RingAttention::extra_bytes() const {
  const std::size_t slots = impl_->rotation ? impl_->slice.arena_bytes() : 0;
  const std::size_t gathered = impl_->gathered ? impl_->gathered->bytes() : 0;
  return slots + gathered + impl_->packed.bytes() + impl_->partial_window.bytes() +
         impl_->kernel->state_bytes();
}

}  // namespace ringcomm::inline v0
