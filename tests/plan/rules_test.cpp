// SPDX-License-Identifier: Apache-2.0
// The oracle for whole plans is the verifier (whose own oracle is brute_force, see mutants_test); what it
// cannot know (who reads what when, bytes that travel, refusals) is computed here directly.
#include "ringcomm/plan/rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>

#include "plan/plan_kinds.hpp"

namespace ringcomm::plan::testing {
namespace {

constexpr int kRanks[] = {1, 2, 3, 4, 5, 8};

void expect_verified(const Case& c) {
  const Result<PlanFacts> facts = verify(c.slices, c.coverage);
  ASSERT_TRUE(facts.is_ok()) << c.name << ": " << facts.status().to_string();
}

std::vector<std::vector<std::uint64_t>> block_sizes(int ranks) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::uint64_t> uneven(n);
  std::vector<std::uint64_t> one_large(n, 1);
  for (std::size_t rank = 0; rank < n; ++rank) uneven[rank] = rank % 3 == 1 ? 0 : 7 * rank + 1;
  one_large[n / 2] = 61;
  if (ranks > 5) return {uneven};  // the large plans take the test's time
  return {std::vector<std::uint64_t>(n, 13), std::vector<std::uint64_t>(n, 0), uneven, one_large};
}

/// All; causal with contiguous shards; random.
std::vector<std::vector<std::uint8_t>> needed_matrices(int ranks, std::uint32_t seed) {
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<std::uint8_t> causal(n * n);
  std::vector<std::uint8_t> random(n * n);
  std::mt19937 generator(seed);
  for (std::size_t pair = 0; pair < n * n; ++pair) {
    causal[pair] = pair / n >= pair % n ? 1 : 0;
    random[pair] = static_cast<std::uint8_t>(generator() % 2);
  }
  return {{}, causal, random};
}

/// As numbered; reversed; shuffled.
std::vector<std::vector<int>> ring_orders(int ranks, std::uint32_t seed) {
  std::vector<int> reversed(static_cast<std::size_t>(ranks));
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  std::vector<int> shuffled = reversed;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(seed));
  return {{}, reversed, shuffled};
}

template <class Body>
void for_each_rotation(int ranks, Body&& body) {
  std::uint32_t seed = 1;
  for (RotationRule rule : rotation_forms(ranks)) {
    for (const auto& sizes : block_sizes(ranks)) {
      for (const auto& needed : needed_matrices(ranks, seed++)) {
        for (const std::uint64_t chunk : {0U, 1U, 5U}) {
          if (chunk != 0 && rule.mode == RotationMode::direct) continue;
          if (chunk == 1 && ranks > 4) continue;  // slow, and nothing new
          rule.block_bytes = sizes;
          rule.needed = needed;
          rule.chunk_bytes = chunk;
          rule.order = ring_orders(ranks, seed)[seed % 3];
          body(rule);
        }
      }
    }
  }
}

TEST(RotationRuleTest, EveryFormVerifies) {
  int plans = 0;
  for (const int ranks : kRanks) {
    for_each_rotation(ranks, [&](const RotationRule& rule) {
      ++plans;
      expect_verified(rotation_case(rule));
    });
  }
  EXPECT_GT(plans, 800);
}

/// Executors may run a slice on one thread in list order.
TEST(RotationRuleTest, ListOrderOnOneQueueHasNoDeadlock) {
  for (const int ranks : {2, 3, 5}) {
    for_each_rotation(ranks, [&](const RotationRule& rule) {
      Case c = rotation_case(rule);
      for (RankPlan& slice : c.slices) {
        for (Op& op : slice.ops) op.stream = StreamRole::compute, op.after = kNone;
      }
      expect_verified(c);
    });
  }
}

/// Blocks that a rank computes on, in list order; each must be of the next step.
std::vector<int> visited(const RankPlan& slice) {
  std::vector<int> blocks;
  for (const Op& op : slice.ops) {
    if (op.kind != OpKind::compute) continue;
    EXPECT_EQ(op.step, static_cast<int>(blocks.size()));
    EXPECT_EQ(op.bytes, 24U);
    blocks.push_back(op.block);
  }
  return blocks;
}

TEST(RotationRuleTest, StepTReadsTheBlockTPlacesBack) {
  for (const int ranks : kRanks) {
    for (RotationRule rule : rotation_forms(ranks)) {
      rule.block_bytes.assign(static_cast<std::size_t>(ranks), 24);
      for (const std::vector<int>& order : ring_orders(ranks, 7)) {
        rule.order = order;
        const Case c = rotation_case(rule);
        for (int place = 0; place < ranks; ++place) {
          const auto who = [&](int at) {
            const int there = ((at % ranks) + ranks) % ranks;
            return order.empty() ? there : order[static_cast<std::size_t>(there)];
          };
          std::vector<int> wanted;
          for (int step = 0; step < ranks; ++step) wanted.push_back(who(place - step * rule.direction));
          EXPECT_EQ(visited(c.slices[static_cast<std::size_t>(who(place))]), wanted) << c.name;
        }
      }
    }
  }
}

TEST(RotationRuleTest, RelayedBlocksMoveBetweenNeighboursOfTheOrderOnly) {
  for (RotationRule rule : rotation_forms(5)) {
    if (rule.mode == RotationMode::direct) continue;
    rule.block_bytes.assign(5, 24);
    rule.order = {0, 3, 1, 4, 2};
    for (const RankPlan& slice : rotation_case(rule).slices) {
      const auto place = std::ranges::find(rule.order, slice.rank) - rule.order.begin();
      for (const Op& op : slice.ops) {
        if (op.peer == kNone) continue;
        const auto distance = std::abs(place - (std::ranges::find(rule.order, op.peer) - rule.order.begin()));
        EXPECT_TRUE(distance == 1 || distance == 4) << "rank " << slice.rank << " and " << op.peer;
      }
    }
  }
}

TEST(RotationRuleTest, OrdersThatAreNoPermutationAreRefused) {
  for (const std::vector<int>& order : {std::vector<int>{0, 1}, std::vector<int>{0, 1, 1},
                                        std::vector<int>{0, 1, 3}, std::vector<int>{0, -1, 1}}) {
    const RotationRule rule{.ranks = 3, .order = order, .block_bytes = {1, 1, 1}};
    EXPECT_EQ(rotation_slice(rule, 0).status().code(), StatusCode::invalid_argument);
  }
}

TEST(RotationRuleTest, AnotherOrderIsAnotherSignature) {
  RotationRule rule{.ranks = 3, .block_bytes = {1, 1, 1}};
  const auto before = rotation_slice(rule, 0).value().signature;
  rule.order = {0, 2, 1};
  EXPECT_NE(rotation_slice(rule, 0).value().signature, before);
}

TEST(RotationRuleTest, DirectCopiesNothingAndRelayKeepsTwoSlots) {
  for (const int ranks : {2, 8}) {
    for (RotationRule rule : rotation_forms(ranks)) {
      rule.block_bytes.assign(static_cast<std::size_t>(ranks), 100);
      const Result<PlanFacts> facts = verify(rotation_case(rule).slices, {});
      ASSERT_TRUE(facts.is_ok());
      const bool is_direct = rule.mode == RotationMode::direct;
      EXPECT_EQ(facts->arena_bytes_max, is_direct ? 0U : 200U);
      EXPECT_EQ(facts->bytes_moved, is_direct ? 0U : 100U * static_cast<unsigned>(ranks * (ranks - 1)));
    }
  }
}

/// Causal, contiguous, direction +1: rank r is read by r..N-1, so its block makes N-1-r hops and no more.
TEST(RotationRuleTest, BlocksTravelOnlyAsFarAsTheirLastReader) {
  for (const int ranks : kRanks) {
    for (RotationRule rule : rotation_forms(ranks)) {
      if (rule.direction != 1 || rule.mode == RotationMode::direct) continue;
      rule.block_bytes.assign(static_cast<std::size_t>(ranks), 10);
      rule.needed = needed_matrices(ranks, 1)[1];
      const Result<PlanFacts> facts = verify(rotation_case(rule).slices, {});
      ASSERT_TRUE(facts.is_ok());
      EXPECT_EQ(facts->bytes_moved, 10U * static_cast<unsigned>(ranks * (ranks - 1) / 2));
    }
  }
}

TEST(RotationRuleTest, EmptyBlocksStillTakePart) {
  RotationRule rule{.ranks = 3, .mode = RotationMode::relay, .block_bytes = {0, 0, 0}};
  for (const RankPlan& slice : rotation_case(rule).slices) {
    EXPECT_EQ(std::count_if(slice.ops.begin(), slice.ops.end(),
                            [](const Op& op) { return op.kind == OpKind::pull; }),
              2);
  }
}

TEST(RotationRuleTest, ChunksAreForwardedBeforeTheBlockIsComplete) {
  RotationRule rule{
      .ranks = 4, .mode = RotationMode::relay, .block_bytes = {32, 32, 32, 32}, .chunk_bytes = 8};
  const RankPlan slice = rotation_slice(rule, 1).value();
  const auto first_forward = std::find_if(slice.ops.begin(), slice.ops.end(), [](const Op& op) {
    return op.kind == OpKind::offer && op.step == 2;
  });
  const auto last_pull = std::find_if(slice.ops.begin(), slice.ops.end(), [](const Op& op) {
    return op.kind == OpKind::pull && op.step == 1 && op.offset == 24;
  });
  EXPECT_LT(first_forward - slice.ops.begin(), last_pull - slice.ops.begin());
}

/// 100 chunks against lanes of 8 places, in every mixture of large and small neighbours.
TEST(RotationRuleTest, ManyChunksFitThroughTheLanes) {
  std::mt19937 generator(7);
  for (const int ranks : {2, 3, 4, 5}) {
    for (RotationRule rule : rotation_forms(ranks)) {
      if (rule.mode == RotationMode::direct) continue;
      for (int round = 0; round < 6; ++round) {
        rule.block_bytes.clear();
        for (int rank = 0; rank < ranks; ++rank)
          rule.block_bytes.push_back(generator() % 2 != 0 ? generator() % 100 : generator() % 3);
        rule.chunk_bytes = 1;
        expect_verified(rotation_case(rule));
      }
    }
  }
}

TEST(RotationRuleTest, OverlapChangesQueuesOnly) {
  for (const int ranks : kRanks) {
    RotationRule rule{.ranks = ranks, .mode = RotationMode::relay};
    rule.block_bytes.assign(static_cast<std::size_t>(ranks), 9);
    RankPlan overlapped = rotation_slice(rule, 0).value();
    rule.overlap = Overlap::off;
    const RankPlan serial = rotation_slice(rule, 0).value();
    for (Op& op : overlapped.ops) op.stream = StreamRole::compute, op.after = kNone;
    EXPECT_EQ(overlapped.ops, serial.ops);
  }
}

TEST(RotationRuleTest, SignatureIsTheRuleAndNotTheRank) {
  RotationRule rule{.ranks = 3, .block_bytes = {4, 5, 6}};
  const std::uint64_t signature = rotation_slice(rule, 0).value().signature;
  EXPECT_EQ(rotation_slice(rule, 2).value().signature, signature);
  std::vector<RotationRule> others(6, rule);
  others[0].block_bytes = {4, 6, 5};
  others[1].direction = -1;
  others[2].mode = RotationMode::relay;
  others[3].overlap = Overlap::off;
  others[4].chunk_bytes = 2;
  others[5].needed = everything(3);
  for (const RotationRule& other : others) EXPECT_NE(rotation_slice(other, 0).value().signature, signature);
}

void expect_refused(const Result<RankPlan>& slice, std::string_view words) {
  ASSERT_FALSE(slice.is_ok());
  EXPECT_EQ(slice.status().code(), StatusCode::invalid_argument);
  EXPECT_NE(slice.status().message().find(words), std::string_view::npos) << slice.status().message();
}

TEST(RotationRuleTest, RefusesWrongRulesByValue) {
  const RotationRule good{.ranks = 2, .block_bytes = {1, 1}};
  const auto with = [&](auto&& change) {
    RotationRule rule = good;
    change(rule);
    return rotation_slice(rule, 0);
  };
  ASSERT_TRUE(rotation_slice(good, 1).is_ok());
  expect_refused(with([](auto& r) { r.ranks = 0; }), "over 0 ranks");
  expect_refused(with([](auto& r) { r.ranks = -3; }), "over -3 ranks");
  expect_refused(rotation_slice(good, 2), "rank 2 is outside 0 to 1");
  expect_refused(rotation_slice(good, -1), "rank -1 is outside");
  expect_refused(with([](auto& r) { r.block_bytes = {1}; }), "1 entries for 2 ranks");
  expect_refused(with([](auto& r) { r.block_bytes[1] = static_cast<std::uint64_t>(-8); }), "rank 1 has");
  expect_refused(with([](auto& r) { r.block_bytes.assign(2, std::uint64_t{1} << 62); }), "together");
  expect_refused(with([](auto& r) { r.direction = 0; }), "direction is 0");
  expect_refused(with([](auto& r) { r.needed = {1, 1, 1}; }), "needed has 3 entries");
  expect_refused(with([](auto& r) { r.access = Access::two_sided; }), "direct over two-sided");
  expect_refused(with([](auto& r) {
                   r.mode = RotationMode::relay;
                   r.block_bytes[1] = 1U << 20;
                   r.chunk_bytes = 1;
                 }),
                 "chunk_bytes 1 cuts the block of rank 1");
}

TEST(ExchangeRuleTest, EveryFormVerifies) {
  for (const int ranks : kRanks) {
    for (const Access access : {Access::direct_read, Access::two_sided}) {
      expect_verified(barrier_case({.ranks = ranks, .access = access}));
      for (const auto& sizes : block_sizes(ranks))
        expect_verified(all_gather_case({.ranks = ranks, .access = access, .block_bytes = sizes}));
      for (const auto& sizes : block_sizes(ranks)) {
        for (const auto form : {ReduceForm::one_shot, ReduceForm::two_shot, ReduceForm::scatter})
          expect_verified(
              reduce_case({.ranks = ranks, .access = access, .form = form, .slice_bytes = sizes}));
      }
    }
  }
}

TEST(ExchangeRuleTest, EveryBroadcastAllToAllAndGroupOfMessagesVerifies) {
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8}) {
    for (const Access access : {Access::direct_read, Access::two_sided}) {
      for (const std::uint64_t bytes : {0U, 13U}) {
        for (int root = 0; root < ranks; ++root)
          expect_verified(broadcast_case({.ranks = ranks, .access = access, .root = root, .bytes = bytes}));
        std::vector<std::uint64_t> matrix;
        for (int pair = 0; pair < ranks * ranks; ++pair)
          matrix.push_back(bytes == 0 ? 0 : static_cast<std::uint64_t>(pair % 3 * 7));
        expect_verified(all_to_all_case(ranks, access, matrix));
      }
    }
    for (const int count : {0, 1, 2 * ranks, 40}) {
      for (std::uint32_t seed = 0; seed < 5; ++seed) expect_verified(point_to_point_case(ranks, count, seed));
    }
  }
}

/// More messages one way than a lane has places: a group waits for its peer's receives, not for the lane.
TEST(ExchangeRuleTest, ManyMessagesBothWaysVerify) {
  std::vector<RankPlan> slices;
  for (int rank = 0; rank < 2; ++rank) {
    PointToPointRule rule{.ranks = 2};
    for (int index = 0; index < 3 * kLaneDepth; ++index)
      rule.messages.push_back({.is_send = true, .peer = 1 - rank, .bytes = 4});
    for (int index = 0; index < 3 * kLaneDepth; ++index)
      rule.messages.push_back({.is_send = false, .peer = 1 - rank, .bytes = 4});
    slices.push_back(point_to_point_slice(rule, rank).value());
  }
  expect_verified({"many both ways", slices, {}});
}

/// An all-to-all that hands a rank another rank's part of the same size must not pass.
TEST(ExchangeRuleTest, APartForAnotherRankIsSeen) {
  Case c = all_to_all_case(3, Access::direct_read, std::vector<std::uint64_t>(9, 4));
  for (Op& op : c.slices[0].ops) {
    if (op.kind == OpKind::offer) op.offset = 8 - (op.offset - 4);  // ranks 1 and 2 exchanged
  }
  const Result<PlanFacts> facts = verify(c.slices, c.coverage);
  ASSERT_FALSE(facts.is_ok());
  EXPECT_NE(facts.status().message().find("the block from byte"), std::string::npos)
      << facts.status().to_string();
}

TEST(ExchangeRuleTest, GatheredBlocksLieInRankOrder) {
  const AllGatherRule rule{.ranks = 4, .access = Access::two_sided, .block_bytes = {5, 0, 7, 2}};
  for (const RankPlan& slice : all_gather_case(rule).slices) {
    EXPECT_EQ(slice.slots[1].bytes, 14U);
    for (const Op& op : slice.ops) {
      if (op.kind != OpKind::compute) continue;
      EXPECT_EQ(op.offset, (std::vector<std::uint64_t>{0, 5, 5, 12})[static_cast<std::size_t>(op.block)]);
    }
  }
}

/// Callers may have the result written over their partial.
TEST(ExchangeRuleTest, SoftmaxWritesNoResultWhileThePartialIsRead) {
  for (const auto algorithm : {MergeAlgorithm::one_shot, MergeAlgorithm::two_shot}) {
    for (const RankPlan& slice :
         softmax_case({.ranks = 4, .algorithm = algorithm, .rows = 9, .row_bytes = 4}).slices) {
      const auto result = std::find_if(slice.ops.begin(), slice.ops.end(), [](const Op& op) {
        return op.code == static_cast<std::uint32_t>(ComputeCode::copy_result);
      });
      EXPECT_EQ(std::count_if(slice.ops.begin(), result,
                              [](const Op& op) { return op.kind == OpKind::reclaim && op.step == 0; }),
                3);
    }
  }
}

/// The same of reductions, for inputs in place.
TEST(ExchangeRuleTest, ReductionsWriteNoResultWhileTheInputIsRead) {
  for (const auto form : {ReduceForm::one_shot, ReduceForm::two_shot}) {
    for (const RankPlan& slice :
         reduce_case({.ranks = 4, .form = form, .slice_bytes = {4, 4, 4, 8}}).slices) {
      const auto result = std::find_if(slice.ops.begin(), slice.ops.end(), [](const Op& op) {
        return op.code == static_cast<std::uint32_t>(ComputeCode::copy_result);
      });
      EXPECT_EQ(std::count_if(slice.ops.begin(), result,
                              [](const Op& op) { return op.kind == OpKind::reclaim && op.step == 0; }),
                3);
    }
  }
}

TEST(ExchangeRuleTest, MergedSlicesTileTheRows) {
  for (const int ranks : kRanks) {
    for (const std::uint64_t rows :
         {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{1000}, ~std::uint64_t{0}}) {
      EXPECT_EQ(slice_first(rows, ranks, 0), 0U);
      EXPECT_EQ(slice_first(rows, ranks, ranks), rows);
      for (int rank = 0; rank < ranks; ++rank) {
        const auto wide = static_cast<unsigned __int128>(rows) * static_cast<unsigned>(rank);
        EXPECT_EQ(slice_first(rows, ranks, rank),
                  static_cast<std::uint64_t>(wide / static_cast<unsigned>(ranks)));
      }
    }
  }
}

TEST(ExchangeRuleTest, RefusesWrongRulesByValue) {
  expect_refused(all_gather_slice({.ranks = 2, .block_bytes = {1}}, 0), "1 entries for 2 ranks");
  expect_refused(all_gather_slice({.ranks = 2, .block_bytes = {1, 1}}, 5), "rank 5 is outside");
  expect_refused(barrier_slice({.ranks = 0}, 0), "over 0 ranks");
  expect_refused(
      softmax_slice({.ranks = 2, .rows = std::uint64_t{1} << 40, .row_bytes = std::uint64_t{1} << 30}, 0),
      "more than 2^63 - 1 bytes");
  expect_refused(softmax_slice({.ranks = 2, .rows = static_cast<std::uint64_t>(-1), .row_bytes = 1}, 0),
                 "negative");
  expect_refused(reduce_slice({.ranks = 2, .slice_bytes = {1}}, 0), "1 entries for 2 ranks");
  expect_refused(broadcast_slice({.ranks = 2, .root = 2}, 0), "root 2 is outside 0 to 1");
  expect_refused(broadcast_slice({.ranks = 2, .bytes = static_cast<std::uint64_t>(-8)}, 0), "negative");
  expect_refused(all_to_all_slice({.ranks = 2, .send_bytes = {1, 2}, .receive_bytes = {2, 2}}, 0),
                 "sends itself 1 bytes and receives 2");
  expect_refused(point_to_point_slice({.ranks = 2, .messages = {{true, 2, 1}}}, 0),
                 "send with member 2 of 2");
  expect_refused(point_to_point_slice({.ranks = 2, .messages = {{true, 1, ~std::uint64_t{0}}}}, 0),
                 "negative");
  expect_refused(point_to_point_slice({.ranks = 2, .messages = {{true, 0, 1}}}, 0),
                 "1 sends to itself and 0 receives");
  expect_refused(point_to_point_slice({.ranks = 2, .messages = {{true, 0, 1}, {false, 0, 2}}}, 0),
                 "sends itself 1 bytes and receives 2");
}

}  // namespace
}  // namespace ringcomm::plan::testing
