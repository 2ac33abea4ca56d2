// SPDX-License-Identifier: Apache-2.0
// The oracle tries every assignment.
#include "topology/matching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace ringcomm::inline v0::topology {
namespace {

using Costs = std::vector<MatchCost>;

MatchCost sum_of(const Costs& costs, std::size_t columns, const std::vector<std::size_t>& column_of) {
  MatchCost sum;
  for (std::size_t row = 0; row < column_of.size(); ++row) sum += costs[(row * columns) + column_of[row]];
  return sum;
}

MatchCost least_sum(const Costs& costs, std::size_t rows, std::size_t columns) {
  std::vector<std::size_t> order(columns);
  std::iota(order.begin(), order.end(), std::size_t{0});
  MatchCost least{.first = INT64_MAX, .second = 0};
  do {
    least = std::min(
        least, sum_of(costs, columns, {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(rows)}));
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(MatchingTest, EqualsTheBestOfAllAssignments) {
  std::minstd_rand random(3);
  for (int round = 0; round < 300; ++round) {
    const std::size_t rows = 1 + (random() % 5);
    const std::size_t columns = rows + (random() % 3);
    Costs costs(rows * columns);
    for (auto& cost : costs) {
      cost.first = static_cast<std::int64_t>(random() % 3);
      cost.second = static_cast<std::int64_t>(random() % 7) << (random() % 40);
    }
    const auto column_of = assign_rows(costs, rows, columns);
    ASSERT_EQ(std::set(column_of.begin(), column_of.end()).size(), rows) << "a column was given twice";
    EXPECT_TRUE(sum_of(costs, columns, column_of) == least_sum(costs, rows, columns));
  }
}

TEST(MatchingTest, NoRowsNeedNothing) { EXPECT_TRUE(assign_rows({}, 0, 3).empty()); }

}  // namespace
}  // namespace ringcomm::inline v0::topology
