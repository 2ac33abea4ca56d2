// SPDX-License-Identifier: Apache-2.0
// Minimum-cost assignment.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace ringcomm::inline v0::topology {

/// Compared by the first number, then by the second, so that neither need be scaled by the other's sums.
struct MatchCost {
  std::int64_t first = 0;
  std::int64_t second = 0;

  MatchCost& operator+=(const MatchCost& other) {
    first += other.first;
    second += other.second;
    return *this;
  }
  MatchCost& operator-=(const MatchCost& other) {
    first -= other.first;
    second -= other.second;
    return *this;
  }
  friend MatchCost operator-(MatchCost a, const MatchCost& b) { return a -= b; }
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 takes the defaulted comparison for a 0
  friend auto operator<=>(const MatchCost&, const MatchCost&) = default;
};

/// `costs` [rows * columns], rows <= columns: the column of each row, all different, with the least sum.
/// Cost: rows squared x columns (Kuhn 1955, with potentials).
std::vector<std::size_t> assign_rows(const std::vector<MatchCost>& costs, std::size_t rows,
                                     std::size_t columns);

}  // namespace ringcomm::inline v0::topology
