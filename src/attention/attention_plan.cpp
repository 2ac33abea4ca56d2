// SPDX-License-Identifier: Apache-2.0
#include "attention/attention_plan.hpp"

#include "core/try.hpp"
#include "ringcomm/core/dtype.hpp"

namespace ringcomm::inline v0 {
namespace attention {
namespace {

bool sees(const VisibleBand& band, const Chunk& q, const Chunk& k) {
  return classify(band, q.first, q.count, k.first, k.count).visibility != Visibility::none;
}

void attach(plan::RankPlan& slice, plan::Op& op, const std::vector<plan::Tile>& tiles) {
  op.tile_first = static_cast<std::uint32_t>(slice.tiles.size());
  op.tile_count = static_cast<std::uint32_t>(tiles.size());
  slice.tiles.insert(slice.tiles.end(), tiles.begin(), tiles.end());
}

/// Gives every block that `slice` consumes its tiles.
void attach_to_consumers(const AttentionSpec& spec, const ShardMap& map, plan::RankPlan& slice) {
  for (plan::Op& op : slice.ops) {
    if (op.kind != plan::OpKind::compute) continue;
    attach(slice, op, tiles_of(spec, map, slice.rank, op.block));
  }
}

Result<plan::RankPlan> gathered_slice(const AttentionSpec& spec, const ShardMap& map, plan::Access access,
                                      int rank) {
  plan::AllGatherRule rule{.ranks = map.ranks(), .access = access, .block_bytes = {}};
  for (int source = 0; source < map.ranks(); ++source)
    rule.block_bytes.push_back(kv_bytes(spec, map.rows_of(source)));
  RINGCOMM_TRY_ASSIGN(plan::RankPlan slice, plan::all_gather_slice(rule, rank));
  attach_to_consumers(spec, map, slice);
  return slice;
}

/// Local partials first, then the merge of all ranks' partials.
Result<plan::RankPlan> replicated_slice(const AttentionSpec& spec, const ShardMap& map, plan::Access access,
                                        int rank) {
  const plan::SoftmaxRule rule{
      .ranks = map.ranks(),
      .access = access,
      .algorithm = plan::MergeAlgorithm::two_shot,
      .rows = static_cast<std::uint64_t>(map.tokens()) * static_cast<std::uint64_t>(spec.q_heads),
      .row_bytes = static_cast<std::uint64_t>(spec.head_dim + 1) * sizeof(float)};
  RINGCOMM_TRY_ASSIGN(plan::RankPlan slice, plan::softmax_slice(rule, rank));
  for (plan::Op& op : slice.ops) {
    if (op.after != plan::kNone) ++op.after;
  }
  plan::Op local{.kind = plan::OpKind::compute, .block = rank, .slot = static_cast<int>(slice.slots.size())};
  local.bytes = kv_bytes(spec, map.rows_of(rank));
  slice.slots.push_back({.kind = plan::SlotKind::own, .bytes = local.bytes});
  attach(slice, local, tiles_of(spec, map, rank, rank));
  slice.ops.insert(slice.ops.begin(), local);
  return slice;
}

}  // namespace

AttentionStrategy resolved(AttentionStrategy strategy, plan::Access access) {
  if (strategy != AttentionStrategy::automatic) return strategy;
  return access == plan::Access::direct_read ? AttentionStrategy::ring_direct : AttentionStrategy::ring_relay;
}

std::uint64_t kv_bytes(const AttentionSpec& spec, std::int64_t rows) {
  return 2 * static_cast<std::uint64_t>(rows) * static_cast<std::uint64_t>(spec.kv_heads) *
         static_cast<std::uint64_t>(spec.head_dim) * bytes_of(spec.dtype);
}

std::vector<std::uint8_t> needed_blocks(const ShardMap& map, const VisibleBand& band) {
  const auto ranks = static_cast<std::size_t>(map.ranks());
  std::vector<std::uint8_t> needed(ranks * ranks, 0);
  for (const Chunk& q : map.chunks()) {
    for (const Chunk& k : map.chunks()) {
      if (sees(band, q, k)) {
        needed[static_cast<std::size_t>(q.rank) * ranks + static_cast<std::size_t>(k.rank)] = 1;
      }
    }
  }
  return needed;
}

std::vector<plan::Tile> tiles_of(const AttentionSpec& spec, const ShardMap& map, int reader, int source) {
  const bool is_replicated = spec.queries == QueryPlacement::replicated;
  const VisibleBand band = band_of(spec.mask);
  const std::vector<Chunk> own = map.chunks_of(reader);
  std::vector<plan::Tile> tiles;
  for (const Chunk& q : is_replicated ? map.chunks() : own) {
    for (const Chunk& k : map.chunks_of(source)) {
      if (sees(band, q, k)) tiles.push_back({.q_chunk = q.index, .k_chunk = k.index});
    }
  }
  return tiles;
}

plan::RotationRule rotation_rule(const AttentionSpec& spec, const ShardMap& map, plan::Access access,
                                 const RingPlaces& order) {
  plan::RotationRule rule;
  rule.ranks = map.ranks();
  rule.access = access;
  rule.mode = resolved(spec.strategy, access) == AttentionStrategy::ring_direct ? plan::RotationMode::direct
                                                                                : plan::RotationMode::relay;
  rule.overlap = spec.overlap;
  rule.order = order;
  rule.chunk_bytes = spec.chunk_bytes;
  rule.needed = needed_blocks(map, band_of(spec.mask));
  for (int source = 0; source < map.ranks(); ++source)
    rule.block_bytes.push_back(kv_bytes(spec, map.rows_of(source)));
  return rule;
}

Result<plan::RankPlan> attention_slice(const AttentionSpec& spec, const ShardMap& map, plan::Access access,
                                       int rank, const RingPlaces& order) {
  if (spec.queries == QueryPlacement::replicated) return replicated_slice(spec, map, access, rank);
  if (spec.strategy == AttentionStrategy::all_gather) return gathered_slice(spec, map, access, rank);
  RINGCOMM_TRY_ASSIGN(plan::RankPlan slice,
                      plan::rotation_slice(rotation_rule(spec, map, access, order), rank));
  slice.op = OpCode::ring_attention;
  attach_to_consumers(spec, map, slice);
  return slice;
}

}  // namespace attention

Result<std::vector<plan::RankPlan>> attention_plan(const AttentionSpec& spec, int ranks, plan::Access access,
                                                   const std::vector<int>& order) {
  RINGCOMM_TRY(RingAttention::supports(spec, ranks));
  RINGCOMM_TRY_ASSIGN(const ShardMap map, ShardMap::create(spec.layout, spec.tokens, ranks));
  std::vector<plan::RankPlan> slices;
  for (int rank = 0; rank < ranks; ++rank) {
    RINGCOMM_TRY_ASSIGN(plan::RankPlan slice, attention::attention_slice(spec, map, access, rank, order));
    slices.push_back(std::move(slice));
  }
  return slices;
}

Result<plan::Coverage> attention_coverage(const AttentionSpec& spec, int ranks) {
  RINGCOMM_TRY(RingAttention::supports(spec, ranks));
  RINGCOMM_TRY_ASSIGN(const ShardMap map, ShardMap::create(spec.layout, spec.tokens, ranks));
  const VisibleBand band = band_of(spec.mask);
  plan::Coverage coverage{.consumed = {}, .chunks = map.chunk_count(), .visible = {}};
  const bool is_ring =
      spec.queries == QueryPlacement::sharded && spec.strategy != AttentionStrategy::all_gather;
  if (is_ring) coverage.consumed = attention::needed_blocks(map, band);
  for (const Chunk& q : map.chunks()) {
    for (const Chunk& k : map.chunks()) coverage.visible.push_back(attention::sees(band, q, k) ? 1 : 0);
  }
  return coverage;
}

}  // namespace ringcomm::inline v0
