// SPDX-License-Identifier: Apache-2.0
// The oracle is the definition: every token has exactly one owner and one row. Small sizes are swept whole,
// the known answers are those of attention spec 6.1.
#include "ringcomm/attention/layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace ringcomm {
namespace {

ShardMap map_of(Layout layout, std::int64_t tokens, int ranks) {
  return ShardMap::create(layout, tokens, ranks).value();
}

std::vector<std::int64_t> bounds_of(const ShardMap& map) {
  std::vector<std::int64_t> bounds;
  for (const Chunk& chunk : map.chunks()) bounds.push_back(chunk.first);
  bounds.push_back(map.chunks().back().first + map.chunks().back().count);
  return bounds;
}

std::vector<std::int64_t> rows_of(const ShardMap& map) {
  std::vector<std::int64_t> rows;
  for (int rank = 0; rank < map.ranks(); ++rank) rows.push_back(map.rows_of(rank));
  return rows;
}

/// Every token once, positions ascending in a shard, and chunks that agree with positions.
void expect_bijection(const ShardMap& map) {
  std::vector<int> owners(static_cast<std::size_t>(map.tokens()), 0);
  for (int rank = 0; rank < map.ranks(); ++rank) {
    const std::vector<std::int64_t> positions = map.positions(rank);
    ASSERT_EQ(static_cast<std::int64_t>(positions.size()), map.rows_of(rank));
    ASSERT_TRUE(std::is_sorted(positions.begin(), positions.end()));
    for (const std::int64_t position : positions) {
      ASSERT_TRUE(position >= 0 && position < map.tokens());
      ++owners[static_cast<std::size_t>(position)];
    }
    for (const Chunk& chunk : map.chunks_of(rank)) {
      ASSERT_EQ(chunk.rank, rank);
      for (std::int64_t row = 0; row < chunk.count; ++row) {
        ASSERT_EQ(positions[static_cast<std::size_t>(chunk.local_first + row)], chunk.first + row);
      }
    }
  }
  ASSERT_EQ(std::count(owners.begin(), owners.end(), 1), map.tokens());
}

void expect_even(const ShardMap& map) {
  const auto by_count = [](const Chunk& a, const Chunk& b) { return a.count < b.count; };
  const auto [least, most] = std::minmax_element(map.chunks().begin(), map.chunks().end(), by_count);
  EXPECT_LE(most->count - least->count, 1);
}

TEST(ShardMapTest, ZigzagHasTheKnownBoundsAndRows) {
  const ShardMap ten = map_of(Layout::zigzag, 10, 3);
  EXPECT_EQ(bounds_of(ten), (std::vector<std::int64_t>{0, 1, 3, 5, 6, 8, 10}));
  EXPECT_EQ(rows_of(ten), (std::vector<std::int64_t>{3, 4, 3}));
  const ShardMap five = map_of(Layout::zigzag, 5, 4);
  EXPECT_EQ(bounds_of(five), (std::vector<std::int64_t>{0, 0, 1, 1, 2, 3, 3, 4, 5}));
  EXPECT_EQ(rows_of(five), (std::vector<std::int64_t>{1, 2, 0, 2}));
  EXPECT_EQ(rows_of(map_of(Layout::zigzag, 2999, 8)),
            (std::vector<std::int64_t>{375, 374, 376, 374, 376, 374, 376, 374}));
}

TEST(ShardMapTest, ZigzagRankHoldsItsEarlyThenItsLateChunk) {
  const std::vector<Chunk> chunks = map_of(Layout::zigzag, 10, 3).chunks_of(1);
  ASSERT_EQ(chunks.size(), 2U);
  EXPECT_EQ(chunks[0].index, 1);
  EXPECT_EQ(chunks[1].index, 4);
  EXPECT_EQ(map_of(Layout::zigzag, 10, 3).positions(1), (std::vector<std::int64_t>{1, 2, 6, 7}));
}

TEST(ShardMapTest, ContiguousRankHoldsOneRun) {
  EXPECT_EQ(bounds_of(map_of(Layout::contiguous, 10, 3)), (std::vector<std::int64_t>{0, 3, 6, 10}));
  EXPECT_EQ(map_of(Layout::contiguous, 10, 3).positions(2), (std::vector<std::int64_t>{6, 7, 8, 9}));
}

TEST(ShardMapTest, EverySmallLengthIsABijection) {
  for (const Layout layout : {Layout::contiguous, Layout::zigzag}) {
    for (int ranks = 1; ranks <= 8; ++ranks) {
      for (std::int64_t tokens = 0; tokens <= 4 * ranks + 3; ++tokens) {
        SCOPED_TRACE(testing::Message()
                     << "layout " << static_cast<int>(layout) << " ranks " << ranks << " tokens " << tokens);
        const ShardMap map = map_of(layout, tokens, ranks);
        ASSERT_EQ(map.chunk_count(), layout == Layout::zigzag ? 2 * ranks : ranks);
        expect_bijection(map);
        expect_even(map);
      }
    }
  }
}

TEST(ShardMapTest, OddLengthIsABijectionOnTwoToEightRanks) {
  for (const Layout layout : {Layout::contiguous, Layout::zigzag}) {
    for (int ranks = 2; ranks <= 8; ++ranks) {
      const ShardMap map = map_of(layout, 2999, ranks);
      expect_bijection(map);
      expect_even(map);
    }
  }
}

TEST(ShardMapTest, HugeLengthDoesNotOverflow) {
  const std::int64_t tokens = (std::int64_t{1} << 60) - 1;
  const ShardMap map = map_of(Layout::zigzag, tokens, 10007);
  EXPECT_EQ(bounds_of(map).back(), tokens);
  expect_even(map);
}

TEST(ShardMapTest, RefusesWrongSizesByValue) {
  const auto negative = ShardMap::create(Layout::zigzag, -1, 4);
  EXPECT_EQ(negative.status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(negative.status().message(), "shard map of -1 tokens (0 to 2^60 are possible)");
  EXPECT_EQ(ShardMap::create(Layout::zigzag, (std::int64_t{1} << 60) + 1, 4).status().code(),
            StatusCode::invalid_argument);
  EXPECT_EQ(ShardMap::create(Layout::contiguous, 4, 0).status().message(),
            "shard map over 0 ranks (1 to 1048576 are possible)");
  EXPECT_EQ(ShardMap::create(static_cast<Layout>(7), 4, 1).status().message(),
            "layout number 7 (0 is contiguous, 1 is zigzag)");
}

TEST(ShardMapTest, RankOutsideTheGroupHoldsNothing) {
  const ShardMap map = map_of(Layout::zigzag, 10, 3);
  EXPECT_TRUE(map.chunks_of(3).empty());
  EXPECT_EQ(map.rows_of(-1), 0);
  EXPECT_TRUE(map.positions(3).empty());
}

}  // namespace
}  // namespace ringcomm
