// SPDX-License-Identifier: Apache-2.0
// The oracle is a kernel that counts (query, key) token pairs: over all sources each visible one exactly
// once.
#include "attention/tile_work.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "attention/attention_plan.hpp"

namespace ringcomm::attention {
namespace {

/// Keys carry their global position as value; queries are rows. Counts what a real kernel would add.
class CountingKernel final : public BlockKernel {
 public:
  void begin(const TensorView&) override { pairs.clear(); }
  void accumulate(const BlockRange& range, const TensorView& k, const TensorView& v) override {
    ++calls;
    EXPECT_EQ(k.data, v.data);
    for (std::int64_t i = 0; i < range.q_count; ++i) {
      for (std::int64_t j = 0; j < k.shape[0]; ++j) {
        const bool is_visible = range.is_full || (range.local.lower <= i - j && i - j <= range.local.upper);
        const auto position = static_cast<std::int64_t>(static_cast<const float*>(k.data)[j * k.strides[0]]);
        if (is_visible) ++pairs[{range.q_first + i, position}];
      }
    }
  }
  void finish(const TensorView&, const TensorView&) override {}
  std::size_t state_bytes() const override { return 0; }
  CpuLevel level() const override { return CpuLevel::scalar; }

  std::map<std::pair<std::int64_t, std::int64_t>, int> pairs;
  int calls = 0;
};

AttentionSpec spec_of(std::int64_t tokens, Layout layout, Mask mask, QueryPlacement queries) {
  AttentionSpec spec;
  spec.tokens = tokens;
  spec.layout = layout;
  spec.mask = mask;
  spec.queries = queries;
  return spec;
}

SourceWork work_of(const AttentionSpec& spec, const ShardMap& map, int rank, int source) {
  return resolve_tiles(spec, map, source, tiles_of(spec, map, rank, source));
}

/// Runs the block of `source` in parts of at most `part_rows`.
void run_in_parts(CountingKernel& kernel, const SourceWork& work, const std::vector<std::int64_t>& positions,
                  std::int64_t part_rows) {
  std::vector<float> keys(positions.begin(), positions.end());
  const auto rows = static_cast<std::int64_t>(keys.size());
  const TensorView block = TensorView::contiguous(keys.data(), DType::float32, {rows, 1, 1});
  for (std::int64_t first = 0; first < rows; first += part_rows) {
    const TensorView part = rows_of(block, first, std::min(part_rows, rows - first));
    run_tiles(kernel, work, first, part, part);
  }
}

void expect_each_visible_pair_once(const AttentionSpec& spec, int ranks, int rank, std::int64_t part_rows) {
  const ShardMap map = ShardMap::create(spec.layout, spec.tokens, ranks).value();
  const bool is_replicated = spec.queries == QueryPlacement::replicated;
  CountingKernel kernel;
  std::vector<std::int64_t> keys;
  std::int64_t pairs_claimed = 0;
  for (int source = 0; source < ranks; ++source) {
    if (is_replicated && source != rank) continue;
    const SourceWork work = work_of(spec, map, rank, source);
    pairs_claimed += work.visible_pairs;
    run_in_parts(kernel, work, map.positions(source), part_rows);
    for (const std::int64_t position : map.positions(source)) keys.push_back(position);
  }
  std::vector<std::int64_t> queries = map.positions(rank);
  if (is_replicated) {
    queries.clear();
    for (std::int64_t i = 0; i < spec.tokens; ++i) queries.push_back(i);
  }
  std::size_t visible = 0;
  for (std::size_t row = 0; row < queries.size(); ++row) {
    for (const std::int64_t key : keys) {
      if (spec.mask == Mask::causal && key > queries[row]) continue;
      ++visible;
      const auto found = kernel.pairs.find({static_cast<std::int64_t>(row), key});
      ASSERT_TRUE(found != kernel.pairs.end()) << "query " << queries[row] << " key " << key;
      ASSERT_EQ(found->second, 1) << "query " << queries[row] << " key " << key;
    }
  }
  ASSERT_EQ(kernel.pairs.size(), visible);
  ASSERT_EQ(pairs_claimed, static_cast<std::int64_t>(visible));
}

TEST(TileWorkTest, EveryVisiblePairIsAccumulatedOnceInWholeBlocksAndInParts) {
  for (const int ranks : {1, 2, 3, 5}) {
    for (const std::int64_t tokens : {0, 1, 2, 5, 2 * ranks - 1, 2 * ranks, 4 * ranks + 3, 41}) {
      for (const Layout layout : {Layout::contiguous, Layout::zigzag}) {
        for (const Mask mask : {Mask::full, Mask::causal}) {
          for (const auto queries : {QueryPlacement::sharded, QueryPlacement::replicated}) {
            for (const std::int64_t part_rows : {1, 3, 1000}) {
              const AttentionSpec spec = spec_of(tokens, layout, mask, queries);
              for (int rank = 0; rank < ranks; ++rank) {
                SCOPED_TRACE(testing::Message() << "ranks " << ranks << " rank " << rank << " tokens "
                                                << tokens << " parts of " << part_rows);
                ASSERT_NO_FATAL_FAILURE(expect_each_visible_pair_once(spec, ranks, rank, part_rows));
              }
            }
          }
        }
      }
    }
  }
}

TEST(TileWorkTest, EachStepOfTheZigzagRingIsOneCall) {
  const AttentionSpec spec = spec_of(64, Layout::zigzag, Mask::causal, QueryPlacement::sharded);
  const ShardMap map = ShardMap::create(Layout::zigzag, 64, 4).value();
  for (int rank = 0; rank < 4; ++rank) {
    for (int source = 0; source < 4; ++source) {
      EXPECT_EQ(work_of(spec, map, rank, source).tiles.size(), 1U) << rank << ' ' << source;
    }
  }
}

TEST(TileWorkTest, OnlyWhollyVisibleNeighboursAreMerged) {
  const AttentionSpec spec = spec_of(64, Layout::zigzag, Mask::causal, QueryPlacement::replicated);
  const ShardMap map = ShardMap::create(Layout::zigzag, 64, 4).value();
  const SourceWork work = resolve_tiles(spec, map, 0, {{7, 0}, {7, 7}});  // full, then the diagonal
  ASSERT_EQ(work.tiles.size(), 2U);
  EXPECT_FALSE(work.tiles[1].range.is_full);
}

TEST(TileWorkTest, RehearsalAsksForTheSamePairsWithinOwnRows) {
  const AttentionSpec spec = spec_of(10, Layout::zigzag, Mask::full, QueryPlacement::sharded);
  const ShardMap map = ShardMap::create(Layout::zigzag, 10, 3).value();  // rows 3 4 3
  std::vector<float> keys{0, 1, 2};
  const TensorView own = TensorView::contiguous(keys.data(), DType::float32, {3, 1, 1});
  CountingKernel kernel;
  for (int source = 0; source < 3; ++source) rehearse_tiles(kernel, work_of(spec, map, 0, source), own, own);
  EXPECT_EQ(kernel.pairs.size(), 9U);
  for (const auto& [pair, count] : kernel.pairs) EXPECT_EQ(count, 3);
  const TensorView none = TensorView::contiguous(nullptr, DType::float32, {0, 1, 1});
  const int calls = kernel.calls;
  rehearse_tiles(kernel, work_of(spec, map, 0, 1), none, none);
  EXPECT_EQ(kernel.calls, calls);
}

}  // namespace
}  // namespace ringcomm::attention
