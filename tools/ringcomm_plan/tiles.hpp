// SPDX-License-Identifier: Apache-2.0
// Whether the flash-attention tile divides the pieces that the layout cuts, and what is uneven.
#pragma once

#include <cstdint>

#include "model.hpp"

namespace ringcomm::planner {

struct TileFit {
  int tile = 0;
  std::int64_t chunk_min = 0;  ///< tokens of the smallest and the largest chunk of the layout
  std::int64_t chunk_max = 0;
  std::int64_t rows_min = 0;  ///< of a rank
  std::int64_t rows_max = 0;
  bool divides = false;
  double empty_share = 0;  ///< of the rows of all query tiles
  std::int64_t even_tokens_below =
      0;  ///< nearest lengths at which the tile divides every chunk; 0: none below
  std::int64_t even_tokens_above = 0;
};
/// cp as checked by check_split. O(cp).
TileFit fit_tiles(const ModelShape& shape, const Work& work, int cp, int tile);

}  // namespace ringcomm::planner
