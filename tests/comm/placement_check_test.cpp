// SPDX-License-Identifier: Apache-2.0
// Placements worked out by hand: which groups cross, and the sentence that says what would not.
#include <gtest/gtest.h>

#include "ringcomm/comm/parallel_grid.hpp"

namespace ringcomm {
namespace {

ParallelGrid grid_of(const ParallelSizes& sizes, int world,
                     std::string_view order = ParallelGrid::kDefaultOrder) {
  return ParallelGrid::create(sizes, world, order).value();
}

/// Hosts of `size` ranks, numbered one after the other, or round robin.
std::vector<int> blocked(int world, int size) {
  std::vector<int> hosts;
  for (int rank = 0; rank < world; ++rank) hosts.push_back(rank / size);
  return hosts;
}
std::vector<int> round_robin(int world, int hosts) {
  std::vector<int> all;
  for (int rank = 0; rank < world; ++rank) all.push_back(rank % hosts);
  return all;
}

int count(const PlacementReport& report, ParallelKind kind) {
  int found = 0;
  for (const CrossingGroup& crossing : report.crossings) found += crossing.kind == kind ? 1 : 0;
  return found;
}

TEST(PlacementCheckTest, TpAndCpInsideHostsNeedNothing) {
  const auto grid = grid_of({.tp = 8, .cp = 2, .pp = 4, .dp = 2}, 128);
  const PlacementReport report = check_placement(grid, blocked(128, 16)).value();
  EXPECT_EQ(count(report, ParallelKind::tp), 0);
  EXPECT_EQ(count(report, ParallelKind::cp), 0);
  EXPECT_EQ(count(report, ParallelKind::dp), 64) << "2 hosts per pipeline stage";
  EXPECT_EQ(count(report, ParallelKind::pp), 32);
  EXPECT_EQ(report.suggestion, "none needed: TP and CP are inside hosts");
  EXPECT_TRUE(check_placement(grid, blocked(128, 128)).value().crossings.empty());
}

TEST(PlacementCheckTest, ACrossingGroupIsNamedWithRanksAndHosts) {
  const auto grid = grid_of({.tp = 2, .cp = 2}, 4);
  const PlacementReport report = check_placement(grid, std::vector<int>{7, 7, 3, 7}).value();
  ASSERT_EQ(count(report, ParallelKind::tp), 1);
  EXPECT_EQ(report.crossings[0].group, 1);
  EXPECT_EQ(report.crossings[0].ranks, (std::vector<int>{2, 3}));
  EXPECT_EQ(report.crossings[0].hosts, (std::vector<int>{3, 7}));
  const std::string text = report.to_text();
  EXPECT_NE(text.find("TP group 1 crosses hosts 3 7: ranks 2 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("suggestion: none: the 1 ranks of host 3 cannot be cut into TP groups of 2"),
            std::string::npos)
      << text;
}

TEST(PlacementCheckTest, AnotherOrderIsFound) {
  // PP first: tensor groups are spread over both hosts
  const auto grid = grid_of({.tp = 2, .pp = 4}, 8, "pp-tp-cp-dp");
  const PlacementReport report = check_placement(grid, blocked(8, 4)).value();
  EXPECT_EQ(count(report, ParallelKind::tp), 4);
  EXPECT_EQ(report.suggestion,
            "order \"tp-cp-dp-pp\" keeps TP inside hosts (0 of 4 TP groups and 0 of 8 CP groups cross)");
}

TEST(PlacementCheckTest, AnOrderFitsAnUnusualNumbering) {
  const auto grid = grid_of({.tp = 2, .dp = 2}, 4);
  const PlacementReport report = check_placement(grid, round_robin(4, 2)).value();
  EXPECT_EQ(count(report, ParallelKind::tp), 2);
  EXPECT_NE(report.suggestion.find("order \""), std::string::npos) << report.suggestion;
  EXPECT_NE(report.suggestion.find("0 of 2 TP groups"), std::string::npos) << report.suggestion;
}

TEST(PlacementCheckTest, AnotherNumberingIsFoundWhereNoOrderHelps) {
  const auto grid = grid_of({.tp = 2, .dp = 2}, 4);
  const PlacementReport report = check_placement(grid, std::vector<int>{5, 9, 9, 5}).value();
  EXPECT_EQ(
      report.suggestion,
      "number the ranks host by host, with order \"tp-cp-dp-pp\": that keeps TP inside hosts (0 of 2 TP "
      "groups and 0 of 4 CP groups cross)");
}

TEST(PlacementCheckTest, WhatDoesNotFitIsSaid) {
  EXPECT_EQ(check_placement(grid_of({.tp = 8}, 16), blocked(16, 4)).value().suggestion,
            "none: TP 8 does not fit hosts of 4 ranks");
  EXPECT_EQ(check_placement(grid_of({.tp = 4}, 12), blocked(12, 6)).value().suggestion,
            "none: the 6 ranks of host 0 cannot be cut into TP groups of 4");
  EXPECT_EQ(check_placement(grid_of({.tp = 4, .cp = 4}, 16), blocked(16, 8)).value().suggestion,
            "none: CP 4 with TP 4 does not fit hosts of 8 ranks (TP is inside hosts; rings cross)");
}

TEST(PlacementCheckTest, AListOfAnotherLengthIsRefused) {
  const Status got = check_placement(grid_of({.tp = 2}, 4), blocked(3, 1)).status();
  EXPECT_EQ(got.code(), StatusCode::invalid_argument);
  EXPECT_NE(got.message().find("hosts of 3 ranks for a grid of 4"), std::string::npos) << got.to_string();
}

}  // namespace
}  // namespace ringcomm
