// SPDX-License-Identifier: Apache-2.0
// The oracle is a text written by hand for one small plan, and a change of every single field for hash and
// equality.
#include "ringcomm/plan/plan.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "ringcomm/plan/rules.hpp"

namespace ringcomm::plan {
namespace {

RankPlan small_plan() {
  const RotationRule rule{.ranks = 3, .mode = RotationMode::relay, .block_bytes = {64, 64, 32}};
  return rotation_slice(rule, 1).value();
}

TEST(PlanTest, TextIsOneLinePerOperation) {
  EXPECT_EQ(to_text(small_plan()),
            "ring_rotate on rank 1 of 3, 3 steps, 128 arena bytes\n"
            "0    step 1    comm     offer    to 2      block 1    slot 0   64 bytes\n"
            "1    step 0    compute  compute            block 1    slot 0   64 bytes\n"
            "2    step 1    comm     pull     from 0    block 0    slot 1   64 bytes\n"
            "3    step 1    comm     release  to 0      block 0             64 bytes\n"
            "4    step 2    comm     offer    to 2      block 0    slot 1   64 bytes\n"
            "5    step 1    compute  compute            block 0    slot 1   64 bytes  after 2\n"
            "6    step 2    comm     pull     from 0    block 2    slot 2   32 bytes\n"
            "7    step 2    comm     release  to 0      block 2             32 bytes\n"
            "8    step 2    compute  compute            block 2    slot 2   32 bytes  after 6\n"
            "9    step 1    comm     reclaim  from 2    block 1             64 bytes\n"
            "10   step 2    comm     reclaim  from 2    block 0             64 bytes\n");
}

TEST(PlanTest, TextShowsWhatIsRarelyUsed) {
  RankPlan plan = small_plan();
  plan.ops = {{.kind = OpKind::compute,
               .step = 123456,
               .peer = 12345678,
               .block = 2,
               .target_slot = 1,
               .group = 4,
               .after = 9,
               .code = 2,
               .offset = 8,
               .bytes = 16,
               .tile_first = 3,
               .tile_count = 5}};
  EXPECT_NE(to_text(plan).find("0    step 123456  compute  compute  from 12345678  block 2     16 bytes "
                               "at 8  into slot 1  code 2  group 4  after 9  tiles 3+5\n"),
            std::string::npos)
      << to_text(plan);
}

TEST(PlanTest, EveryKindHasItsName) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(OpKind::compute); ++kind)
    names.insert(name_of(static_cast<OpKind>(kind)));
  EXPECT_EQ(names.size(), 8U);
  EXPECT_EQ(names.count("unknown"), 0U);
  EXPECT_EQ(name_of(static_cast<OpKind>(99)), "unknown");
}

TEST(PlanTest, EveryFieldCountsForHashAndEquality) {
  RankPlan plan = small_plan();
  plan.tiles = {{1, 2}};
  const std::vector<std::function<void(RankPlan&)>> changes = {
      [](auto& p) { ++p.rank; },
      [](auto& p) { ++p.ranks; },
      [](auto& p) { p.op = OpCode::barrier; },
      [](auto& p) { ++p.steps; },
      [](auto& p) { ++p.signature; },
      [](auto& p) { p.slots[1].kind = SlotKind::result; },
      [](auto& p) { ++p.slots[1].bytes; },
      [](auto& p) { p.slots.pop_back(); },
      [](auto& p) { p.ops.pop_back(); },
      [](auto& p) { p.tiles.clear(); },
      [](auto& p) { ++p.tiles[0].q_chunk; },
      [](auto& p) { ++p.tiles[0].k_chunk; },
      [](auto& p) { p.ops[2].kind = OpKind::take; },
      [](auto& p) { p.ops[2].stream = StreamRole::compute; },
      [](auto& p) { ++p.ops[2].step; },
      [](auto& p) { ++p.ops[2].peer; },
      [](auto& p) { ++p.ops[2].block; },
      [](auto& p) { ++p.ops[2].slot; },
      [](auto& p) { ++p.ops[2].target_slot; },
      [](auto& p) { ++p.ops[2].group; },
      [](auto& p) { ++p.ops[2].after; },
      [](auto& p) { ++p.ops[2].code; },
      [](auto& p) { ++p.ops[2].offset; },
      [](auto& p) { ++p.ops[2].bytes; },
      [](auto& p) { ++p.ops[2].tile_first; },
      [](auto& p) { ++p.ops[2].tile_count; },
      [](auto& p) { std::swap(p.ops[2], p.ops[3]); },
  };
  std::set<std::uint64_t> hashes{hash(plan)};
  for (const auto& change : changes) {
    RankPlan changed = plan;
    change(changed);
    EXPECT_FALSE(changed == plan);
    EXPECT_TRUE(hashes.insert(hash(changed)).second) << to_text(changed);
  }
  EXPECT_EQ(hash(plan), hash(RankPlan(plan)));
}

/// Computed by another FNV-1a over the same values: hashes travel between ranks and may not depend on
/// compiler or padding.
TEST(PlanTest, HashIsTheSameEverywhere) {
  EXPECT_EQ(hash(RankPlan{}), 11468972283197893956U);
  EXPECT_EQ(small_plan().signature, 13385668760596024806U);
}

TEST(PlanTest, ArenaBytesCountArenaSlotsOnly) {
  RankPlan plan;
  EXPECT_EQ(plan.arena_bytes(), 0U);
  plan.slots = {{SlotKind::own, 5}, {SlotKind::arena, 7}, {SlotKind::result, 11}, {SlotKind::arena, 0}};
  EXPECT_EQ(plan.arena_bytes(), 7U);
}

}  // namespace
}  // namespace ringcomm::plan
