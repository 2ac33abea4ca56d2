// SPDX-License-Identifier: Apache-2.0
// The keys that one query, or a run of queries, sees under a signed band.
#pragma once

#include <algorithm>
#include <cstdint>

#include "attention/block_kernel.hpp"

namespace ringcomm::inline v0::attention::host {

/// Keys [first, final) of the block; empty when first >= final.
struct KeySpan {
  std::int64_t first = 0, final = 0;
};

/// Band of the range, or everything if it is full.
inline VisibleBand band_of_range(const BlockRange& range) {
  return range.is_full ? VisibleBand{} : range.local;
}

/// Keys among [0, keys) that at least one of the queries [i_first, i_last] (block rows) sees.
inline KeySpan keys_seen(const VisibleBand& band, std::int64_t i_first, std::int64_t i_last,
                         std::int64_t keys) {
  return {std::max<std::int64_t>(0, i_first - band.upper), std::min(keys, i_last - band.lower + 1)};
}

}  // namespace ringcomm::inline v0::attention::host
