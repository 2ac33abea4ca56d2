// SPDX-License-Identifier: Apache-2.0
// Verdicts are compared with brute_force in mutants_test; here each error is provoked once by hand, so that
// its words are known, and facts are counted by hand.
#include "ringcomm/plan/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/plan_kinds.hpp"

namespace ringcomm::plan::testing {
namespace {

/// Relay over 4 ranks with overlap; rank 1's slice begins
/// 0 offer, 1 compute, 2 pull, 3 release, 4 offer, 5 compute, 6 pull, 7 release, 8 offer, 9 compute,
/// 10 reclaim, 11 reclaim, 12 pull after 5, ...
Case relay(Overlap overlap = Overlap::on) {
  return rotation_case(
      {.ranks = 4, .mode = RotationMode::relay, .overlap = overlap, .block_bytes = {64, 64, 64, 64}});
}
/// Rank 1 of 3: 0 offer, 1 offer, 2 compute, 3 take, 4 compute, 5 release, ...
Case direct() { return rotation_case({.ranks = 3, .block_bytes = {64, 64, 64}}); }

void expect_error(const Case& c, StatusCode code, std::string_view words) {
  const Result<PlanFacts> verdict = verify(c.slices, c.coverage);
  ASSERT_FALSE(verdict.is_ok()) << words;
  EXPECT_EQ(verdict.status().code(), code);
  EXPECT_EQ(verdict.status().message(), words);
}

void erase_op(RankPlan& slice, std::size_t index) {
  slice.ops.erase(slice.ops.begin() + static_cast<std::ptrdiff_t>(index));
  for (Op& op : slice.ops) {
    if (op.after > static_cast<int>(index)) --op.after;
  }
}

TEST(VerifyTest, ASendWithoutItsReceiveIsNamed) {
  Case c = direct();
  erase_op(c.slices[2], 3);
  expect_error(c, StatusCode::mismatch,
               "rank 1 operation 0 (offer, step 1, peer 2, block 1, slot 0) has no counterpart on its peer");
}

TEST(VerifyTest, OtherBytesBlocksAndStepsAreNamed) {
  Case c = direct();
  c.slices[1].ops[3].bytes = 60;
  expect_error(
      c, StatusCode::mismatch,
      "rank 0 operation 0 (offer, step 1, peer 1, block 0, slot 0) meets rank 1 operation 3 (take, step 1, "
      "peer 0, block 0): size in bytes differs, 64 against 60");
  c = direct();
  c.slices[1].ops[3].block = 2;
  expect_error(
      c, StatusCode::mismatch,
      "rank 0 operation 0 (offer, step 1, peer 1, block 0, slot 0) meets rank 1 operation 3 (take, step 1, "
      "peer 0, block 2): block differs, 0 against 2");
}

TEST(VerifyTest, AMessageNeedsAMessage) {
  Case c = direct();
  c.slices[0].ops[0].kind = OpKind::send;
  expect_error(
      c, StatusCode::mismatch,
      "rank 0 operation 0 (send, step 1, peer 1, block 0, slot 0) meets rank 1 operation 3 (take, step 1, "
      "peer 0, block 0) (send needs recv, offer needs take or pull)");
}

TEST(VerifyTest, ADeadlockListsItsCircle) {
  Case c = rotation_case({.ranks = 2, .block_bytes = {8, 8}});
  for (RankPlan& slice : c.slices) std::rotate(slice.ops.begin(), slice.ops.begin() + 1, slice.ops.end() - 1);
  const Result<PlanFacts> verdict = verify(c.slices, c.coverage);
  ASSERT_FALSE(verdict.is_ok());
  const std::string message(verdict.status().message());
  EXPECT_EQ(message.rfind("deadlock: ", 0), 0U) << message;
  EXPECT_NE(message.find("operations wait in a circle: rank "), std::string::npos) << message;
  EXPECT_NE(message.find("rank 0 operation 1 (take, step 1, peer 1, block 1) waits for"), std::string::npos)
      << message;
  EXPECT_NE(message.find("rank 1 operation 1 (take, step 1, peer 0, block 0) waits for"), std::string::npos)
      << message;
}

TEST(VerifyTest, ASlotRewrittenUnderALocalReaderIsNamed) {
  Case c = relay();
  ASSERT_EQ(c.slices[1].ops[12].after, 5);
  c.slices[1].ops[12].after = kNone;
  expect_error(
      c, StatusCode::invalid_argument,
      "rank 1 operation 12 (pull, step 3, peer 0, block 2, slot 1) rewrites slot 1 of rank 1 while rank 1 "
      "operation 5 (compute, step 1, block 0, slot 1) may still read it (nothing orders the two)");
}

TEST(VerifyTest, ASlotRewrittenUnderARemoteReaderIsNamed) {
  Case c = relay();
  std::swap(c.slices[1].ops[11], c.slices[1].ops[12]);  // pull before the reclaim that frees its slot
  expect_error(
      c, StatusCode::invalid_argument,
      "rank 1 operation 11 (pull, step 3, peer 0, block 2, slot 1) rewrites slot 1 of rank 1 while rank 2 "
      "operation 6 (pull, step 2, peer 1, block 0, slot 2) may still read it (nothing orders the two)");
}

TEST(VerifyTest, AWrongBlockInASlotIsNamed) {
  Case c = relay(Overlap::off);
  c.slices[1].ops[9].slot = 1;
  expect_error(
      c, StatusCode::invalid_argument,
      "rank 1 operation 9 (compute, step 2, block 3, slot 1) finds block 0 in slot 1 of rank 1 where it "
      "names block 3");
}

TEST(VerifyTest, BytesNobodyWroteAreNamed) {
  Case c = relay(Overlap::off);
  c.slices[1].ops[5].slot = 2;
  expect_error(c, StatusCode::invalid_argument,
               "rank 1 operation 5 (compute, step 1, block 0, slot 2) finds bytes that nobody has written in "
               "slot 2 of "
               "rank 1 where it names block 0");
}

TEST(VerifyTest, TwoWritersOfOneSlotNeedAnOrder) {
  Case c = barrier_case({.ranks = 3, .access = Access::two_sided});
  ASSERT_TRUE(verify(c.slices, c.coverage).is_ok());
  for (RankPlan& slice : c.slices) {
    for (Slot& slot : slice.slots) slot.bytes = 1;
    for (Op& op : slice.ops) op.bytes = 1;
  }
  expect_error(
      c, StatusCode::invalid_argument,
      "rank 0 operation 3 (recv, step 0, peer 1, block 1, slot 1) rewrites slot 1 of rank 0 while rank 0 "
      "operation 1 (recv, step 0, peer 2, block 2, slot 1) also writes it (nothing orders the two)");
}

TEST(VerifyTest, AViewHasTheSizeAndBlockOfItsOffer) {
  for (const bool other_block : {false, true}) {
    Case c = direct();
    c.coverage = {};
    if (other_block) {
      c.slices[1].ops[4].block = 1;
    } else {
      c.slices[1].ops[4].bytes = 32;
    }
    expect_error(
        c, StatusCode::invalid_argument,
        concat("rank 1 operation 4 (compute, step 1, peer 0, block ", other_block ? 1 : 0,
               ") uses a view of rank 0 of another block or size than was given by rank 0 operation 0 "
               "(offer, step 1, peer 1, block 0, slot 0)"));
  }
}

TEST(VerifyTest, AMergeNeedsTheSameRowsOfEverybody) {
  Case c = softmax_case({.ranks = 2, .rows = 8, .row_bytes = 4});
  ASSERT_EQ(c.slices[0].ops[0].kind, OpKind::offer);
  c.slices[0].ops[0].offset -= 4;  // rows 3 to 6 where rank 1 merges rows 4 to 7
  expect_error(c, StatusCode::invalid_argument,
               "rank 1 operation 2 (compute, step 0, block 1, slot 0) finds the block from byte 12 instead "
               "of 16 on in "
               "slot 0 of rank 0 where it names block 0");
}

TEST(VerifyTest, AResultIsSharedOnlyOnceItIsMerged) {
  Case c = softmax_case({.ranks = 2, .rows = 8, .row_bytes = 4});
  for (Op& op : c.slices[0].ops) {
    if (op.kind == OpKind::offer && op.step == 1) op.slot = 0;
  }
  expect_error(c, StatusCode::invalid_argument,
               "rank 1 operation 8 (compute, step 1, peer 0, block 0) finds a block that is not merged yet "
               "in slot 0 of "
               "rank 0 where it names block 0");
}

TEST(VerifyTest, AViewIsUsedBetweenTakeAndReleaseOnly) {
  Case c = direct();
  std::swap(c.slices[1].ops[4], c.slices[1].ops[5]);
  expect_error(
      c, StatusCode::invalid_argument,
      "rank 1 operation 5 (compute, step 1, peer 0, block 0) uses a view of rank 0 that may already be given "
      "back by rank 1 operation 4 (release, step 1, peer 0, block 0)");
  c = direct();
  std::swap(c.slices[1].ops[3], c.slices[1].ops[4]);
  expect_error(
      c, StatusCode::invalid_argument,
      "rank 1 operation 3 (compute, step 1, peer 0, block 0) uses a view of rank 0 before any take from it");
}

TEST(VerifyTest, AcknowledgementsMissingOrLeftOverAreNamed) {
  Case c = direct();
  erase_op(c.slices[1], 5);
  expect_error(c, StatusCode::invalid_argument,
               "rank 0 operation 0 (offer, step 1, peer 1, block 0, slot 0) is never acknowledged");
  c = direct();
  c.slices[1].ops.push_back(c.slices[1].ops[5]);
  expect_error(c, StatusCode::invalid_argument,
               "rank 1 operation 11 (release, step 1, peer 0, block 0) acknowledges nothing (left over)");
  c = direct();
  c.slices[0].ops.pop_back();
  expect_error(c, StatusCode::invalid_argument,
               "rank 0 operation 1 (offer, step 2, peer 2, block 0, slot 0) is never acknowledged");
}

TEST(VerifyTest, AReleaseBeforeItsTakeIsNamed) {
  Case c = direct();
  std::swap(c.slices[1].ops[3], c.slices[1].ops[5]);
  expect_error(
      c, StatusCode::invalid_argument,
      "rank 1 operation 3 (release, step 1, peer 0, block 0) comes before rank 1 operation 5 (take, step 1, "
      "peer 0, block 0), which it acknowledges");
}

TEST(VerifyTest, CoverageCountsBlocksAndPairs) {
  Case c = direct();
  erase_op(c.slices[1], 4);
  expect_error(c, StatusCode::invalid_argument, "rank 1 gets block 0 0 times instead of 1");
  c = attention_case({.ranks = 3, .block_bytes = {64, 64, 64}});
  ASSERT_TRUE(verify(c.slices, c.coverage).is_ok());
  c.coverage.visible[2] = 1;
  expect_error(c, StatusCode::invalid_argument, "query chunk 0 meets key chunk 2 0 times instead of 1");
  c.coverage.visible[2] = 0;
  c.slices[2].tiles[1] = c.slices[2].tiles[0];
  expect_error(c, StatusCode::invalid_argument, "query chunk 2 meets key chunk 1 0 times instead of 1");
  c.slices[2].tiles[1] = {2, 3};
  expect_error(c, StatusCode::invalid_argument,
               "rank 2 operation 2 step 1: tile (2, 3) is outside the layout's 3 chunks");
}

TEST(VerifyTest, WrongCoverageIsRefused) {
  Case c = direct();
  c.coverage.consumed.pop_back();
  expect_error(c, StatusCode::invalid_argument, "coverage names 8 pairs for 3 ranks (none, or 9)");
  c = direct();
  c.coverage.chunks = 2;
  expect_error(c, StatusCode::invalid_argument,
               "coverage has 0 chunk pairs for 2 chunks (their square is needed)");
  c.coverage.chunks = -1;
  c.coverage.visible = {1};
  expect_error(c, StatusCode::invalid_argument,
               "coverage has 1 chunk pairs for -1 chunks (their square is needed)");
}

TEST(VerifyTest, NumbersOutOfRangeAreNamed) {
  const auto broken = [](std::size_t index, auto&& change) {
    Case c = relay();
    change(c.slices[1].ops[index]);
    return c;
  };
  const std::string pull = "rank 1 operation 2 (pull, step 1, peer 0, block 0, slot 1): ";
  const StatusCode code = StatusCode::invalid_argument;
  expect_error(broken(2, [](Op& op) { op.peer = 4; }), code,
               "rank 1 operation 2 (pull, step 1, peer 4, block 0, slot 1): peer 4 is not another rank of 4");
  expect_error(broken(2, [](Op& op) { op.peer = 1; }), code,
               "rank 1 operation 2 (pull, step 1, peer 1, block 0, slot 1): peer 1 is not another rank of 4");
  expect_error(broken(2, [](Op& op) { op.block = kNone; }), code,
               "rank 1 operation 2 (pull, step 1, peer 0, slot 1): block -1 is not a rank of 4");
  expect_error(
      broken(2, [](Op& op) { op.step = 4; }), code,
      "rank 1 operation 2 (pull, step 4, peer 0, block 0, slot 1): step 4 is outside the plan's 4 steps");
  expect_error(
      broken(2, [](Op& op) { op.slot = 3; }), code,
      "rank 1 operation 2 (pull, step 1, peer 0, block 0, slot 3): slot 3 is outside the plan's 3 slots");
  expect_error(broken(2, [](Op& op) { op.slot = kNone; }), code,
               "rank 1 operation 2 (pull, step 1, peer 0, block 0): has no slot");
  expect_error(
      broken(2, [](Op& op) { op.slot = 0; }), code,
      "rank 1 operation 2 (pull, step 1, peer 0, block 0, slot 0): writes slot 0, which is the caller's own "
      "block");
  expect_error(broken(2, [](Op& op) { op.offset = ~std::uint64_t{0}; }), code,
               pull + "bytes 18446744073709551615+64 are outside slot 1 of 64 bytes");
  expect_error(broken(2, [](Op& op) { op.after = 99; }), code,
               pull + "after 99 is outside the plan's 16 operations");
  expect_error(broken(2, [](Op& op) { op.after = 0; }), code,
               pull + "after 0 is on the same queue (list order decides there)");
  expect_error(broken(2, [](Op& op) { op.stream = StreamRole::compute; }), code,
               pull + "transfers are on both queues (their order would be undefined)");
  expect_error(broken(2, [](Op& op) { op.group = 0; }), code, pull + "only sends and recvs form groups");
  expect_error(broken(2, [](Op& op) { op.tile_count = 1; }), code,
               pull + "tiles 0+1 are outside the plan's 0");
  expect_error(broken(5, [](Op& op) { op.slot = kNone; }), code,
               "rank 1 operation 5 (compute, step 1, block 0): reads neither a slot nor a peer's view");
  expect_error(broken(5, [](Op& op) { op.target_slot = 1; }), code,
               "rank 1 operation 5 (compute, step 1, block 0, slot 1): reads and writes slot 1 at once");
}

TEST(VerifyTest, AGroupMayNotBeInterrupted) {
  Case c = rotation_case({.ranks = 3,
                          .access = Access::two_sided,
                          .mode = RotationMode::relay,
                          .overlap = Overlap::off,
                          .block_bytes = {8, 8, 8}});
  std::swap(c.slices[0].ops[2], c.slices[0].ops[3]);  // compute between send and recv
  expect_error(
      c, StatusCode::invalid_argument,
      "rank 0 operation 3 (recv, step 1, peer 2, block 2, slot 1): group 0 is interrupted by another "
      "operation");
}

TEST(VerifyTest, SlicesMustBelongTogether) {
  expect_error({"", {}, {}}, StatusCode::invalid_argument, "a plan of no slices (one per rank is needed)");
  Case c = direct();
  std::swap(c.slices[0], c.slices[1]);
  expect_error(c, StatusCode::invalid_argument, "slice 0 of 3 is of rank 1 of 3 (slices in rank order)");
  c = direct();
  c.slices.pop_back();
  expect_error(c, StatusCode::invalid_argument, "slice 0 of 2 is of rank 0 of 3 (slices in rank order)");
  c = direct();
  c.slices[2].op = OpCode::barrier;
  expect_error(c, StatusCode::mismatch, "operation differs: rank 0 has ring_rotate, rank 2 has barrier");
  c = direct();
  c.slices[1].signature = c.slices[0].signature + 1;
  EXPECT_EQ(verify(c.slices, c.coverage).status().code(), StatusCode::mismatch);
}

TEST(VerifyTest, FactsAreCounted) {
  Case c = attention_case({.ranks = 4, .mode = RotationMode::relay, .block_bytes = {10, 20, 30, 40}});
  const Result<PlanFacts> facts = verify(c.slices, c.coverage);
  ASSERT_TRUE(facts.is_ok()) << facts.status().to_string();
  EXPECT_EQ(facts->bytes_moved, 10U * 3 + 20U * 2 + 30U);  // block s goes N-1-s hops
  EXPECT_EQ(facts->arena_bytes_max, 60U);  // rank 3 receives up to 30 bytes into each of two slots
  EXPECT_EQ(facts->tiles, 10U);
  EXPECT_DOUBLE_EQ(facts->tiles_max_over_mean, 4 / 2.5);
  std::size_t operations = 0;
  for (const RankPlan& slice : c.slices) operations += slice.ops.size();
  EXPECT_EQ(facts->operations, operations);
}

TEST(VerifyTest, SixtyFourRanksAreWithinReach) {
  for (const RotationMode mode : {RotationMode::direct, RotationMode::relay}) {
    RotationRule rule{.ranks = 64, .mode = mode};
    rule.block_bytes.assign(64, 1 << 20);
    const Case c = rotation_case(rule);
    const Result<PlanFacts> verdict = verify(c.slices, c.coverage);
    EXPECT_TRUE(verdict.is_ok()) << verdict.status().to_string();
  }
}

}  // namespace
}  // namespace ringcomm::plan::testing
