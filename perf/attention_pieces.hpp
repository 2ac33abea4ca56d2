// SPDX-License-Identifier: Apache-2.0
// Which queries of a rank meet which keys of a block, for programs that move or hold the blocks themselves.
#pragma once

#include <vector>

#include "ringcomm/attention/layout.hpp"
#include "ringcomm/attention/local_attention.hpp"
#include "ringcomm/attention/mask.hpp"

namespace ringcomm::perf {

/// One call of the kernel: `range` against rows [k_first, k_first + k_count) of the block.
struct AttentionPiece {
  LocalRange range{};
  std::int64_t k_first = 0, k_count = 0;
};

/// `reader`'s queries against the shard of `source`, as few calls as can be.
std::vector<AttentionPiece> pieces_of_shard(const ShardMap& map, Mask mask, int reader, int source);
/// `reader`'s queries against all keys in global order.
std::vector<AttentionPiece> pieces_of_all_keys(const ShardMap& map, Mask mask, int reader);

/// Adds the block's keys piece by piece.
Status add_pieces(LocalAttention& attention, const std::vector<AttentionPiece>& pieces, const TensorView& k,
                  const TensorView& v);

}  // namespace ringcomm::perf
