// SPDX-License-Identifier: Apache-2.0
// The oracle of a ring's cost is brute force over all orders.
#include "ringcomm/topology/rank_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace ringcomm {
namespace {

/// Edges between hosts, then between packages, then between memory nodes: compared in this order.
std::vector<int> cost_of(const std::vector<RankPlace>& places, const std::vector<int>& order) {
  std::vector<int> cost(3, 0);
  for (std::size_t at = 0; at < order.size(); ++at) {
    const RankPlace& a = places[static_cast<std::size_t>(order[at])];
    const RankPlace& b = places[static_cast<std::size_t>(order[(at + 1) % order.size()])];
    if (a == b) continue;
    ++cost[a.host != b.host ? 0 : a.package != b.package ? 1 : 2];
  }
  return cost;
}

std::vector<int> best_cost(const std::vector<RankPlace>& places) {
  std::vector<int> order(places.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<int> best = cost_of(places, order);
  while (std::next_permutation(order.begin() + 1, order.end())) best = std::min(best, cost_of(places, order));
  return best;
}

TEST(RingOverTest, CostsNoMoreThanTheBestOfAllOrders) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<RankPlace> places(1 + random() % 7);
    for (RankPlace& place : places) {
      place.host = random() % 2;
      place.package = static_cast<int>(random() % 2);
      place.memory_node = place.package * 2 + static_cast<int>(random() % 2);
    }
    const auto order = ring_over(places).value();
    ASSERT_EQ(order.size(), places.size());
    EXPECT_EQ(order.front(), 0);
    EXPECT_EQ(cost_of(places, order), best_cost(places)) << "round " << round;
  }
}

TEST(RingOverTest, RankOrderStaysWhereItIsAsGood) {
  const std::vector<RankPlace> places{{1, 0, 0}, {1, 0, 0}, {1, 0, 1}, {1, 1, 2}, {1, 1, 2}, {2, 0, 0}};
  EXPECT_EQ(ring_over(places).value(), (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST(RingOverTest, ManyRanksOfManyHostsArePlannedTogether) {
  std::vector<RankPlace> places;
  for (int rank = 0; rank < 1024; ++rank)
    places.push_back({static_cast<std::uint64_t>(rank % 128), rank % 2, 0});
  const auto order = ring_over(places).value();
  EXPECT_EQ(cost_of(places, order)[0], 128);
}

}  // namespace
}  // namespace ringcomm
