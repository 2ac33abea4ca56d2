// SPDX-License-Identifier: Apache-2.0
// Tiles of a plan, resolved to rows: what a block kernel is called with, built once and walked every forward.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/block_kernel.hpp"
#include "ringcomm/attention/ring_attention.hpp"
#include "ringcomm/plan/plan.hpp"

namespace ringcomm::inline v0::attention {

/// One kernel call: queries of `range` against rows [k_first, k_first + k_count) of the source's block.
struct TileWork {
  BlockRange range{};
  std::int64_t k_first = 0;
  std::int64_t k_count = 0;
};

/// Everything this rank computes on one source's block.
struct SourceWork {
  std::vector<TileWork> tiles;
  std::int64_t visible_pairs = 0;
};

/// Neighbouring tiles that are wholly visible become one call, and the tiles of a causal rank's own block
/// too, since its rows are in global order: fewer calls, each with more rows to share among workers.
SourceWork resolve_tiles(const AttentionSpec& spec, const ShardMap& map, int source,
                         const std::vector<plan::Tile>& tiles);

/// Runs `work` on rows [row_first, row_first + rows of k) of the source's block, of which `k` and `v` are
/// views.
void run_tiles(BlockKernel& kernel, const SourceWork& work, std::int64_t row_first, const TensorView& k,
               const TensorView& v);

/// The same calls on this rank's own `k` and `v`, which may have fewer rows than the source's block.
void rehearse_tiles(BlockKernel& kernel, const SourceWork& work, const TensorView& k, const TensorView& v);

/// Rows [first, first + count) of a view.
TensorView rows_of(const TensorView& view, std::int64_t first, std::int64_t count);

}  // namespace ringcomm::inline v0::attention
