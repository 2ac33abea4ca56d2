// SPDX-License-Identifier: Apache-2.0
#include "tiles.hpp"

#include <algorithm>

namespace ringcomm::planner {

TileFit fit_tiles(const ModelShape& shape, const Work& work, int cp, int tile) {
  TileFit fit{.tile = tile};
  const auto map = ShardMap::create(layout_of(shape, work), work.tokens, cp);
  if (!map.is_ok()) return fit;
  fit.chunk_min = fit.rows_min = work.tokens;
  fit.divides = true;
  std::int64_t padded = 0;
  for (const Chunk& chunk : map.value().chunks()) {
    fit.chunk_min = std::min(fit.chunk_min, chunk.count);
    fit.chunk_max = std::max(fit.chunk_max, chunk.count);
    padded += (chunk.count + tile - 1) / tile * tile;
    fit.divides = fit.divides && chunk.count % tile == 0;
  }
  for (int rank = 0; rank < cp; ++rank) {
    fit.rows_min = std::min(fit.rows_min, map.value().rows_of(rank));
    fit.rows_max = std::max(fit.rows_max, map.value().rows_of(rank));
  }
  if (padded > 0) fit.empty_share = 1 - static_cast<double>(work.tokens) / static_cast<double>(padded);
  const std::int64_t unit = std::int64_t{map.value().chunk_count()} * tile;
  fit.even_tokens_below = work.tokens / unit * unit;
  fit.even_tokens_above = (work.tokens + unit - 1) / unit * unit;
  return fit;
}

}  // namespace ringcomm::planner
