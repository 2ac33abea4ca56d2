// SPDX-License-Identifier: Apache-2.0
// Ranks in a sentence, so that every message lists them alike.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {

/// "rank 2", "ranks 2, 5" or "ranks 2, 5 to 7" (in rising order); at most 16 pieces are written out.
inline std::string list_ranks(const std::vector<int>& ranks) {
  constexpr int kPiecesMax = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  std::size_t first = 0;
  for (int piece = 0; first < ranks.size() && piece < kPiecesMax; ++piece) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (last == first + 1) last = first;  // two neighbours read better apart
    text += concat(piece == 0 ? "" : ", ", ranks[first]);
    if (last > first) text += concat(" to ", ranks[last]);
    first = last + 1;
  }
  if (first < ranks.size()) text += concat(" and ", ranks.size() - first, " more");
  return text;
}

}  // namespace ringcomm::inline v0::bootstrap
