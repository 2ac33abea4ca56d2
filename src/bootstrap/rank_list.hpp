// SPDX-License-Identifier: Apache-2.0
// Ranks in a sentence, so that every message lists them alike.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {

/// "rank 2" or "ranks 2, 5"; at most 16 are written out.
inline std::string list_ranks(const std::vector<int>& ranks) {
  constexpr std::size_t kWrittenMax = 16;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < kWrittenMax; ++i) {
    text += concat(i == 0 ? "" : ", ", ranks[i]);
  }
  if (ranks.size() > kWrittenMax) text += concat(" and ", ranks.size() - kWrittenMax, " more");
  return text;
}

}  // namespace ringcomm::inline v0::bootstrap
