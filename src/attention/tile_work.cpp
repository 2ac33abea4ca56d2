// SPDX-License-Identifier: Apache-2.0
#include "attention/tile_work.hpp"

#include <algorithm>

namespace ringcomm::inline v0::attention {
namespace {

bool same_queries(const TileWork& a, const TileWork& b) {
  return a.range.q_first == b.range.q_first && a.range.q_count == b.range.q_count;
}

bool same_keys(const TileWork& a, const TileWork& b) {
  return a.k_first == b.k_first && a.k_count == b.k_count;
}

/// True if `next` was absorbed.
bool try_merge(TileWork& tile, const TileWork& next) {
  if (!tile.range.is_full || !next.range.is_full) return false;
  if (same_queries(tile, next) && next.k_first == tile.k_first + tile.k_count) {
    tile.k_count += next.k_count;
    return true;
  }
  if (same_keys(tile, next) && next.range.q_first == tile.range.q_first + tile.range.q_count) {
    tile.range.q_count += next.range.q_count;
    return true;
  }
  return false;
}

/// Along keys first (tiles come ordered by query chunk), then along queries.
void merge_neighbours(std::vector<TileWork>& tiles) {
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<TileWork> merged;
    for (const TileWork& tile : tiles) {
      if (merged.empty() || !try_merge(merged.back(), tile)) merged.push_back(tile);
    }
    tiles = std::move(merged);
  }
}

/// Row of the first query of `chunk` in this rank's q.
std::int64_t query_row(const AttentionSpec& spec, const Chunk& chunk) {
  return spec.queries == QueryPlacement::replicated ? chunk.first : chunk.local_first;
}

TileWork resolve(const AttentionSpec& spec, const Chunk& q, const Chunk& k) {
  const Rectangle rectangle = classify(band_of(spec.mask), q.first, q.count, k.first, k.count);
  return {.range = {.q_first = query_row(spec, q),
                    .q_count = q.count,
                    .local = rectangle.local,
                    .is_full = rectangle.visibility == Visibility::full},
          .k_first = k.local_first,
          .k_count = k.count};
}

/// A rank's own block under a causal mask is plain causal on its rows.
bool is_plain_causal(const AttentionSpec& spec, const ShardMap& map, int source,
                     const std::vector<plan::Tile>& tiles) {
  if (spec.mask != Mask::causal || spec.queries == QueryPlacement::replicated || tiles.empty()) return false;
  const Chunk& reader = map.chunks()[static_cast<std::size_t>(tiles.front().q_chunk)];
  return reader.rank == source;
}

}  // namespace

SourceWork resolve_tiles(const AttentionSpec& spec, const ShardMap& map, int source,
                         const std::vector<plan::Tile>& tiles) {
  SourceWork work;
  for (const plan::Tile& tile : tiles) {
    const Chunk& q = map.chunks()[static_cast<std::size_t>(tile.q_chunk)];
    const Chunk& k = map.chunks()[static_cast<std::size_t>(tile.k_chunk)];
    work.tiles.push_back(resolve(spec, q, k));
    work.visible_pairs += visible_pairs(band_of(spec.mask), q.first, q.count, k.first, k.count);
  }
  if (is_plain_causal(spec, map, source, tiles)) {
    const std::int64_t rows = map.rows_of(source);
    work.tiles = {{.range = {.q_first = 0, .q_count = rows, .local = band_of(Mask::causal)},
                   .k_first = 0,
                   .k_count = rows}};
  }
  merge_neighbours(work.tiles);
  return work;
}

TensorView rows_of(const TensorView& view, std::int64_t first, std::int64_t count) {
  TensorView rows = view;
  rows.shape[0] = count;
  if (count > 0) {
    rows.data = static_cast<std::byte*>(view.data) +
                first * view.strides[0] * static_cast<std::int64_t>(bytes_of(view.dtype));
  }
  return rows;
}

void run_tiles(BlockKernel& kernel, const SourceWork& work, std::int64_t row_first, const TensorView& k,
               const TensorView& v) {
  for (const TileWork& tile : work.tiles) {
    const std::int64_t first = std::max(tile.k_first, row_first);
    const std::int64_t end = std::min(tile.k_first + tile.k_count, row_first + k.shape[0]);
    if (first >= end) continue;
    BlockRange range = tile.range;
    const std::int64_t skipped = first - tile.k_first;  // j' counts from a later row now
    if (range.local.lower > -VisibleBand::kInfinite) range.local.lower += skipped;
    if (range.local.upper < VisibleBand::kInfinite) range.local.upper += skipped;
    kernel.accumulate(range, rows_of(k, first - row_first, end - first),
                      rows_of(v, first - row_first, end - first));
  }
}

void rehearse_tiles(BlockKernel& kernel, const SourceWork& work, const TensorView& k, const TensorView& v) {
  for (const TileWork& tile : work.tiles) {
    const std::int64_t count = std::min(tile.k_count, k.shape[0]);
    if (count == 0) continue;
    const std::int64_t first = std::min(tile.k_first, k.shape[0] - count);
    kernel.accumulate(tile.range, rows_of(k, first, count), rows_of(v, first, count));
  }
}

}  // namespace ringcomm::inline v0::attention
