// SPDX-License-Identifier: Apache-2.0
// The oracle is small plans whose waits can be followed by hand.
#include "plan/wait_graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace ringcomm::plan {
namespace {

Op op(OpKind kind, int peer, StreamRole stream = StreamRole::compute) {
  return {.kind = kind, .stream = stream, .peer = peer, .block = 0, .slot = 0};
}
Op message(OpKind kind, int peer, int group) {
  Op made = op(kind, peer);
  made.group = group;
  return made;
}

std::vector<RankPlan> plan_of(std::vector<std::vector<Op>> ops) {
  std::vector<RankPlan> slices(ops.size());
  for (std::size_t rank = 0; rank < ops.size(); ++rank) {
    slices[rank].rank = static_cast<int>(rank);
    slices[rank].ranks = static_cast<int>(ops.size());
    slices[rank].ops = std::move(ops[rank]);
  }
  return slices;
}

struct Built {
  std::vector<RankPlan> slices;
  Lanes lanes;
  WaitGraph graph;
  explicit Built(std::vector<std::vector<Op>> ops)
      : slices(plan_of(std::move(ops))), lanes(slices), graph(slices, lanes) {}
};

TEST(WaitGraphTest, TwoReadersBeforeTheirOffersAreACycle) {
  const Built built(
      {{op(OpKind::take, 1), op(OpKind::offer, 1)}, {op(OpKind::take, 0), op(OpKind::offer, 0)}});
  const std::vector<OpRef> cycle = built.graph.find_cycle();
  EXPECT_EQ(cycle.size(), 4U);
  for (const OpRef ref : {OpRef{0, 0}, OpRef{0, 1}, OpRef{1, 0}, OpRef{1, 1}})
    EXPECT_NE(std::find(cycle.begin(), cycle.end(), ref), cycle.end());
}

TEST(WaitGraphTest, OffersFirstIsFine) {
  const Built built(
      {{op(OpKind::offer, 1), op(OpKind::take, 1)}, {op(OpKind::offer, 0), op(OpKind::take, 0)}});
  EXPECT_TRUE(built.graph.find_cycle().empty());
}

TEST(WaitGraphTest, ACycleLeavesOutWhoOnlyWaitsForIt) {
  const Built built({{op(OpKind::take, 1), op(OpKind::offer, 1), op(OpKind::offer, 2)},
                     {op(OpKind::take, 0), op(OpKind::offer, 0)},
                     {op(OpKind::take, 0)}});
  for (const OpRef ref : built.graph.find_cycle()) EXPECT_NE(ref.rank, 2);
  EXPECT_EQ(built.graph.find_cycle().size(), 4U);
}

TEST(WaitGraphTest, TheNinthOfferWaitsForTheFirstTake) {
  for (const int offers : {kLaneDepth, kLaneDepth + 1}) {
    const std::vector<Op> out(static_cast<std::size_t>(offers), op(OpKind::offer, 1));
    const std::vector<Op> back(static_cast<std::size_t>(offers), op(OpKind::take, 1));
    std::vector<Op> first = out;
    first.insert(first.end(), back.begin(), back.end());
    std::vector<Op> second = first;
    for (Op& each : second) each.peer = 0;
    const Built built({first, second});
    EXPECT_EQ(built.graph.find_cycle().empty(), offers == kLaneDepth);
  }
}

TEST(WaitGraphTest, SendThenRecvOnBothSidesNeedsAGroup) {
  for (const bool grouped : {false, true}) {
    const int second = grouped ? 0 : 1;
    const Built built({{message(OpKind::send, 1, 0), message(OpKind::recv, 1, second)},
                       {message(OpKind::send, 0, 0), message(OpKind::recv, 0, second)}});
    EXPECT_EQ(built.graph.find_cycle().empty(), grouped);
  }
}

TEST(WaitGraphTest, AfterAcrossQueuesCanCloseACycle) {
  std::vector<Op> ops{op(OpKind::compute, kNone), op(OpKind::compute, kNone, StreamRole::comm)};
  ops[0].after = 1;
  EXPECT_TRUE(Built({ops}).graph.find_cycle().empty());
  ops[1].after = 0;
  EXPECT_EQ(Built({ops}).graph.find_cycle().size(), 2U);
}

TEST(WaitGraphTest, HappensBeforeFollowsWaitsAndNothingElse) {
  // Rank 0: offer, reclaim, compute. Rank 1: take, compute, release. A second queue on rank 0 is free.
  Built built({{op(OpKind::offer, 1), op(OpKind::reclaim, 1), op(OpKind::compute, kNone),
                op(OpKind::compute, kNone, StreamRole::comm)},
               {op(OpKind::take, 0), op(OpKind::compute, kNone), op(OpKind::release, 0)}});
  ASSERT_TRUE(built.graph.find_cycle().empty());
  built.graph.compute_clocks();
  const auto before = [&](OpRef a, OpRef b) { return built.graph.happens_before(a, b); };
  EXPECT_TRUE(before({0, 0}, {1, 1}));
  EXPECT_TRUE(before({1, 1}, {0, 2}));
  EXPECT_TRUE(before({1, 2}, {0, 1}));
  EXPECT_FALSE(before({0, 1}, {1, 1}));
  EXPECT_FALSE(before({0, 2}, {0, 2}));
  for (const OpRef other : {OpRef{0, 0}, OpRef{0, 2}, OpRef{1, 1}}) {
    EXPECT_FALSE(before({0, 3}, other));
    EXPECT_FALSE(before(other, {0, 3}));
  }
}

}  // namespace
}  // namespace ringcomm::plan
