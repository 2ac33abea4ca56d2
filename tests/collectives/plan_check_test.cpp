// SPDX-License-Identifier: Apache-2.0
// Plans are proved when they are made, in every build.
#include "collectives/plan_check.hpp"

#include <gtest/gtest.h>

#include <string>

namespace ringcomm::collectives {
namespace {

plan::Op op(plan::OpKind kind, int peer, int block) {
  return {.kind = kind, .peer = peer, .block = block, .slot = kind == plan::OpKind::offer ? 0 : plan::kNone};
}

/// Each of two ranks takes the other's block; `is_stuck`: before it offers its own.
plan::RankPlan slice_of(int rank, bool is_stuck) {
  const int peer = 1 - rank;
  plan::RankPlan slice{.rank = rank, .ranks = 2, .steps = 1};
  slice.slots = {{.kind = plan::SlotKind::own, .bytes = 0}};
  const plan::Op offer = op(plan::OpKind::offer, peer, rank);
  const plan::Op take = op(plan::OpKind::take, peer, peer);
  slice.ops = is_stuck ? std::vector{take, offer} : std::vector{offer, take};
  slice.ops.push_back(op(plan::OpKind::release, peer, peer));
  slice.ops.push_back(op(plan::OpKind::reclaim, peer, rank));
  return slice;
}
Status checked(bool is_stuck, int ranks = 2) {
  return check_plan(ranks, [&](int rank) { return Result<plan::RankPlan>(slice_of(rank, is_stuck)); });
}

TEST(PlanCheckTest, ACircleOfWaitsIsRefusedByNameInEveryBuild) {
  EXPECT_TRUE(checked(false).is_ok()) << checked(false).to_string();
  const std::string text = checked(true).to_string();
  EXPECT_NE(text.find("operations wait in a circle"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 0"), std::string::npos) << text;
  EXPECT_NE(text.find("rank 1"), std::string::npos) << text;
}

TEST(PlanCheckTest, LargeGroupsAreNotDerived) {
  const Status status = check_plan(kVerifiedRanksMax + 1,
                                   [](int) { return Result<plan::RankPlan>(Status::internal("derived")); });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm::collectives
