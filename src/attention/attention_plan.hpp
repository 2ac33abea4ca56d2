// SPDX-License-Identifier: Apache-2.0
// From spec and layout to plan values: what ring attention hands to the rotation, and the tiles it computes.
#pragma once

#include <cstdint>
#include <vector>

#include "ringcomm/attention/ring_attention.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::attention {

/// Never `automatic`: direct where peers' memory can be read, else relay.
AttentionStrategy resolved(AttentionStrategy strategy, plan::Access access);

/// Who follows whom in the ring strategies; empty: the ranks as they are numbered.
using RingPlaces = std::vector<int>;

/// Bytes of K and V together for `rows` tokens.
std::uint64_t kv_bytes(const AttentionSpec& spec, std::int64_t rows);

/// [ranks * ranks], 1 where a query of the first rank sees a key of the second.
std::vector<std::uint8_t> needed_blocks(const ShardMap& map, const VisibleBand& band);

/// What `reader` computes on the block of `source`, ordered by query chunk, then key chunk. Replicated
/// queries: all query chunks against own keys.
std::vector<plan::Tile> tiles_of(const AttentionSpec& spec, const ShardMap& map, int reader, int source);

/// The rule of the ring strategies; the same on all ranks.
plan::RotationRule rotation_rule(const AttentionSpec& spec, const ShardMap& map, plan::Access access,
                                 const RingPlaces& order = {});

/// One rank's slice with tiles. `spec` has passed RingAttention::supports.
Result<plan::RankPlan> attention_slice(const AttentionSpec& spec, const ShardMap& map, plan::Access access,
                                       int rank, const RingPlaces& order = {});

}  // namespace ringcomm::inline v0::attention
