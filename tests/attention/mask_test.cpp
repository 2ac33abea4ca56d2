// SPDX-License-Identifier: Apache-2.0
// The oracle counts pairs one by one from the definition lower <= i - j <= upper.
#include "ringcomm/attention/mask.hpp"

#include <gtest/gtest.h>

#include "ringcomm/attention/layout.hpp"

namespace ringcomm {
namespace {

struct Case {
  VisibleBand band;
  std::int64_t q_first, q_count, k_first, k_count;
};

std::int64_t count_pairs(const Case& c) {
  std::int64_t pairs = 0;
  for (std::int64_t i = c.q_first; i < c.q_first + c.q_count; ++i) {
    for (std::int64_t j = c.k_first; j < c.k_first + c.k_count; ++j) {
      pairs += c.band.lower <= i - j && i - j <= c.band.upper ? 1 : 0;
    }
  }
  return pairs;
}

void expect_equals_definition(const Case& c) {
  SCOPED_TRACE(testing::Message() << "band " << c.band.lower << ".." << c.band.upper << " q " << c.q_first
                                  << "+" << c.q_count << " k " << c.k_first << "+" << c.k_count);
  const std::int64_t pairs = count_pairs(c);
  ASSERT_EQ(visible_pairs(c.band, c.q_first, c.q_count, c.k_first, c.k_count), pairs);
  const Rectangle rectangle = classify(c.band, c.q_first, c.q_count, c.k_first, c.k_count);
  const Visibility expected = pairs == 0                       ? Visibility::none
                              : pairs == c.q_count * c.k_count ? Visibility::full
                                                               : Visibility::partial;
  ASSERT_EQ(rectangle.visibility, expected);
  if (pairs == 0) return;
  ASSERT_EQ(count_pairs({rectangle.local, 0, c.q_count, 0, c.k_count}), pairs);
}

TEST(MaskTest, RectangleRuleEqualsTheDefinitionForAllSmallRectanglesAndSignedBands) {
  for (std::int64_t lower = -9; lower <= 9; lower += 3) {
    for (std::int64_t width = -1; width <= 9; width += 2) {
      for (std::int64_t q_first = 0; q_first <= 6; ++q_first) {
        for (std::int64_t k_first = 0; k_first <= 6; k_first += 2) {
          for (std::int64_t q_count = 0; q_count <= 5; ++q_count) {
            for (std::int64_t k_count = 0; k_count <= 5; ++k_count) {
              expect_equals_definition({{lower, lower + width}, q_first, q_count, k_first, k_count});
            }
          }
        }
      }
    }
  }
}

TEST(MaskTest, NamedMasksEqualTheDefinition) {
  for (const Mask mask : {Mask::full, Mask::causal}) {
    for (std::int64_t q_first = 0; q_first <= 8; ++q_first) {
      for (std::int64_t count = 0; count <= 7; ++count) {
        expect_equals_definition({band_of(mask), q_first, count, 4, 5});
        expect_equals_definition({band_of(mask), q_first, 3, 4, count});
      }
    }
  }
}

TEST(MaskTest, LocalBoundsMayBeNegative) {
  const Rectangle rectangle = classify({.lower = 0, .upper = 3}, 10, 4, 6, 4);
  EXPECT_EQ(rectangle.visibility, Visibility::partial);
  EXPECT_EQ(rectangle.local.lower, -4);
  EXPECT_EQ(rectangle.local.upper, -1);
}

TEST(MaskTest, InfiniteBoundsStayInfinite) {
  const Rectangle rectangle = classify(band_of(Mask::causal), 3, 4, 5, 4);
  EXPECT_EQ(rectangle.local.lower, 2);
  EXPECT_EQ(rectangle.local.upper, VisibleBand::kInfinite);
}

TEST(MaskTest, CountsPairsOfLongSequencesWithoutOverflow) {
  const std::int64_t tokens = std::int64_t{1} << 31;
  EXPECT_EQ(visible_pairs(band_of(Mask::causal), 0, tokens, 0, tokens), tokens / 2 * (tokens + 1));
  EXPECT_EQ(visible_pairs(band_of(Mask::full), 0, tokens, 0, tokens), tokens * tokens);
}

TEST(MaskTest, ChunkRectanglesOfALayoutAddUpToTheWholeMask) {
  for (const Layout layout : {Layout::contiguous, Layout::zigzag}) {
    const ShardMap map = ShardMap::create(layout, 2999, 8).value();
    std::int64_t pairs = 0;
    for (const Chunk& q : map.chunks()) {
      for (const Chunk& k : map.chunks()) {
        pairs += visible_pairs(band_of(Mask::causal), q.first, q.count, k.first, k.count);
      }
    }
    EXPECT_EQ(pairs, 2999LL * 3000 / 2);
  }
}

}  // namespace
}  // namespace ringcomm
