// SPDX-License-Identifier: Apache-2.0
// Two oracles: plan::verify proves every slice, and token pairs are counted one by one from positions().
#include "attention/attention_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ringcomm/attention/ring_attention.hpp"

namespace ringcomm {
namespace {

using plan::Access;

AttentionSpec small_spec(std::int64_t tokens, Layout layout = Layout::zigzag, Mask mask = Mask::causal) {
  AttentionSpec spec;
  spec.tokens = tokens;
  spec.q_heads = 2;
  spec.head_dim = 64;
  spec.layout = layout;
  spec.mask = mask;
  return spec;
}

std::vector<plan::Tile> tiles_at(const plan::RankPlan& slice, int source) {
  std::vector<plan::Tile> tiles;
  for (const plan::Op& op : slice.ops) {
    if (op.kind != plan::OpKind::compute || op.block != source) continue;
    tiles.insert(tiles.end(), slice.tiles.begin() + op.tile_first,
                 slice.tiles.begin() + op.tile_first + op.tile_count);
  }
  return tiles;
}

/// The letter of attention spec 6.5 for what `slice` computes at `step`; '?' for anything else.
char case_of(const plan::RankPlan& slice, int step) {
  const int ranks = slice.ranks, rank = slice.rank, late = 2 * ranks - 1 - rank;
  const int source = (rank - step + ranks) % ranks, source_late = 2 * ranks - 1 - source;
  const std::vector<plan::Tile> tiles = tiles_at(slice, source);
  if (tiles == std::vector<plan::Tile>{{rank, rank}, {late, rank}, {late, late}}) return 'D';
  if (tiles == std::vector<plan::Tile>{{rank, source}, {late, source}}) return 'L';
  if (tiles == std::vector<plan::Tile>{{late, source}, {late, source_late}}) return 'U';
  return '?';
}

std::string case_matrix(int ranks) {
  const auto slices = attention_plan(small_spec(8 * ranks), ranks, Access::direct_read).value();
  std::string matrix;
  for (const plan::RankPlan& slice : slices) {
    for (int step = 0; step < ranks; ++step) matrix += case_of(slice, step);
    matrix += ' ';
  }
  return matrix;
}

TEST(AttentionPlanTest, ZigzagCausalHasTheKnownCaseMatrix) {
  EXPECT_EQ(case_matrix(3), "DUU DLU DLL ");
  EXPECT_EQ(case_matrix(4), "DUUU DLUU DLLU DLLL ");
}

/// Every way to move blocks.
std::vector<std::pair<AttentionSpec, Access>> variants(const AttentionSpec& base) {
  std::vector<std::pair<AttentionSpec, Access>> all;
  const auto add = [&](AttentionStrategy strategy, Access access, auto change) {
    AttentionSpec spec = base;
    spec.strategy = strategy;
    change(spec);
    all.emplace_back(spec, access);
  };
  const auto nothing = [](AttentionSpec&) {};
  add(AttentionStrategy::ring_direct, Access::direct_read, nothing);
  for (const Access access : {Access::direct_read, Access::two_sided}) {
    add(AttentionStrategy::automatic, access, nothing);
    add(AttentionStrategy::ring_relay, access, nothing);
    add(AttentionStrategy::ring_relay, access, [](AttentionSpec& s) { s.overlap = plan::Overlap::off; });
    add(AttentionStrategy::ring_relay, access, [](AttentionSpec& s) { s.chunk_bytes = 1000; });
    add(AttentionStrategy::all_gather, access, nothing);
    add(AttentionStrategy::automatic, access,
        [](AttentionSpec& s) { s.queries = QueryPlacement::replicated; });
  }
  return all;
}

class AttentionPlanRanksTest : public testing::TestWithParam<int> {};

TEST_P(AttentionPlanRanksTest, EveryVariantIsProvedByTheVerifier) {
  const int ranks = GetParam();
  for (const Layout layout : {Layout::contiguous, Layout::zigzag}) {
    for (const Mask mask : {Mask::full, Mask::causal}) {
      for (const std::int64_t tokens : {0, 1, 2, ranks, 2 * ranks - 1, 2 * ranks, 4 * ranks + 3, 257}) {
        for (const auto& [spec, access] : variants(small_spec(tokens, layout, mask))) {
          const auto slices = attention_plan(spec, ranks, access);
          ASSERT_TRUE(slices.is_ok()) << slices.status().to_string();
          const auto facts = plan::verify(slices.value(), attention_coverage(spec, ranks).value());
          ASSERT_TRUE(facts.is_ok()) << facts.status().to_string() << "\ntokens " << tokens << " ranks "
                                     << ranks << " layout " << static_cast<int>(layout) << " mask "
                                     << static_cast<int>(mask) << " strategy "
                                     << static_cast<int>(spec.strategy) << " access "
                                     << static_cast<int>(access);
        }
      }
    }
  }
}

TEST_P(AttentionPlanRanksTest, EveryVisibleTokenPairLiesInExactlyOneTile) {
  const int ranks = GetParam();
  for (const Layout layout : {Layout::contiguous, Layout::zigzag}) {
    for (std::int64_t tokens = 0; tokens <= 4 * ranks + 3; ++tokens) {
      const AttentionSpec spec = small_spec(tokens, layout);
      const ShardMap map = ShardMap::create(layout, tokens, ranks).value();
      std::map<std::pair<std::int64_t, std::int64_t>, int> computed;
      const auto slices = attention_plan(spec, ranks, Access::two_sided).value();
      for (const plan::RankPlan& slice : slices) {
        for (const plan::Tile& tile : slice.tiles) {
          const Chunk& q = map.chunks()[static_cast<std::size_t>(tile.q_chunk)];
          const Chunk& k = map.chunks()[static_cast<std::size_t>(tile.k_chunk)];
          ASSERT_EQ(q.rank, slice.rank);
          ASSERT_TRUE(q.count > 0 && k.count > 0) << "an empty chunk makes no tile";
          for (std::int64_t i = q.first; i < q.first + q.count; ++i) {
            for (std::int64_t j = k.first; j < k.first + k.count && j <= i; ++j) ++computed[{i, j}];
          }
        }
      }
      ASSERT_EQ(static_cast<std::int64_t>(computed.size()), tokens * (tokens + 1) / 2);
      for (const auto& [pair, count] : computed) ASSERT_EQ(count, 1) << pair.first << ' ' << pair.second;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, AttentionPlanRanksTest, testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& param) { return "ranks" + std::to_string(param.param); });

TEST(AttentionPlanTest, ContiguousCausalRankReadsEarlierRanksOnly) {
  const auto slices = attention_plan(small_spec(64, Layout::contiguous), 4, Access::direct_read).value();
  for (const plan::RankPlan& slice : slices) {
    std::vector<int> sources;
    for (const plan::Op& op : slice.ops) {
      if (op.kind == plan::OpKind::take) sources.push_back(op.peer);
    }
    std::vector<int> earlier;
    for (int source = slice.rank - 1; source >= 0; --source) earlier.push_back(source);
    EXPECT_EQ(sources, earlier) << "rank " << slice.rank;
  }
}

TEST(AttentionPlanTest, ZigzagCausalIsBalanced) {
  const AttentionSpec spec = small_spec(2999);
  const auto slices = attention_plan(spec, 8, Access::direct_read).value();
  const auto facts = plan::verify(slices, attention_coverage(spec, 8).value()).value();
  EXPECT_DOUBLE_EQ(facts.tiles_max_over_mean, 1.0);
  EXPECT_EQ(facts.tiles, 8U * 17U);  // D has 3 tiles, each of the 7 other steps 2
  const ShardMap map = ShardMap::create(Layout::zigzag, 2999, 8).value();
  double least = 1e18, most = 0;
  for (const plan::RankPlan& slice : slices) {
    double pairs = 0;
    for (const plan::Tile& tile : slice.tiles) {
      const Chunk& q = map.chunks()[static_cast<std::size_t>(tile.q_chunk)];
      const Chunk& k = map.chunks()[static_cast<std::size_t>(tile.k_chunk)];
      pairs += static_cast<double>(visible_pairs(band_of(Mask::causal), q.first, q.count, k.first, k.count));
    }
    least = std::min(least, pairs);
    most = std::max(most, pairs);
  }
  EXPECT_LE(most / least, 1.006);
}

TEST(AttentionPlanTest, ContiguousCausalIsNotAndTheFactsSayHowMuch) {
  const AttentionSpec spec = small_spec(2999, Layout::contiguous);
  const auto slices = attention_plan(spec, 8, Access::direct_read).value();
  const auto facts = plan::verify(slices, attention_coverage(spec, 8).value()).value();
  EXPECT_DOUBLE_EQ(facts.tiles_max_over_mean, 8.0 / 4.5);
}

TEST(AttentionPlanTest, DirectHasNoSlotAndRelayTwoAtAnySize) {
  for (const int ranks : {2, 8}) {
    AttentionSpec spec = small_spec(64 * ranks);
    spec.strategy = AttentionStrategy::ring_direct;
    const auto direct = attention_plan(spec, ranks, Access::direct_read).value();
    for (const auto& slice : direct) EXPECT_EQ(slice.arena_bytes(), 0U);
    spec.strategy = AttentionStrategy::ring_relay;
    const auto relay = attention_plan(spec, ranks, Access::direct_read).value();
    for (const auto& slice : relay) EXPECT_EQ(slice.arena_bytes(), 2 * attention::kv_bytes(spec, 64));
  }
}

TEST(AttentionPlanTest, LostOrDoubledTileIsFoundByTheVerifier) {
  const AttentionSpec spec = small_spec(64);
  const auto coverage = attention_coverage(spec, 4).value();
  const auto sound = attention_plan(spec, 4, Access::direct_read).value();
  auto lost = sound;
  const auto compute = std::find_if(lost[2].ops.begin(), lost[2].ops.end(),
                                    [](const plan::Op& op) { return op.kind == plan::OpKind::compute; });
  compute->tile_count -= 1;
  EXPECT_FALSE(plan::verify(lost, coverage).is_ok());
  auto doubled = sound;
  doubled[1].tiles[0] = doubled[1].tiles[1];
  EXPECT_FALSE(plan::verify(doubled, coverage).is_ok());
}

TEST(AttentionPlanTest, RefusesWhatTheSpecCannotMean) {
  AttentionSpec spec = small_spec(64);
  spec.strategy = AttentionStrategy::ring_direct;
  EXPECT_EQ(attention_plan(spec, 4, Access::two_sided).status().code(), StatusCode::invalid_argument);
  spec.head_dim = 65;
  EXPECT_EQ(attention_plan(spec, 4, Access::direct_read).status().code(), StatusCode::not_available);
  EXPECT_EQ(attention_coverage(spec, 4).status().code(), StatusCode::not_available);
}

}  // namespace
}  // namespace ringcomm
