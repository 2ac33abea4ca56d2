// SPDX-License-Identifier: Apache-2.0
// Rings above the exact sizes, and paths of any size.
#pragma once

#include <optional>
#include <vector>

#include "topology/rings/level_table.hpp"

namespace ringcomm::inline v0::topology {

struct FoundRing {
  std::vector<int> ring{};  ///< normalised
  bool is_exact = false;
};
/// Nested order, then nearest neighbours from every start, then shaken copies of the best, each improved;
/// ends early when the ring is proven best. starts <= 0: 48 or size, whichever is larger.
FoundRing search_ring(const LevelTable& table, int starts);

/// A path through all positions, each end given or free; exact up to kPathExactMax positions (2 ms), searched
/// above. `first` and `last` differ unless there is one position.
inline constexpr int kPathExactMax = 12;
std::vector<int> best_path(const LevelTable& table, std::optional<int> first, std::optional<int> last);

}  // namespace ringcomm::inline v0::topology
