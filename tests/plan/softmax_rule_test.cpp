// SPDX-License-Identifier: Apache-2.0
// Plans of the softmax merges: the verifier on every form, and for recursive doubling a simulation that
// follows the set of ranks in every slot, since the verifier names what a rank holds after its lowest rank
// only.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <queue>
#include <string>

#include "plan/plan_kinds.hpp"

namespace ringcomm::plan::testing {
namespace {

constexpr int kRanks[] = {1, 2, 3, 4, 5, 6, 7, 8};
constexpr Access kAccesses[] = {Access::direct_read, Access::two_sided};

TEST(SoftmaxRuleTest, EveryFormVerifies) {
  for (const int ranks : kRanks) {
    for (const Access access : kAccesses) {
      for (const std::uint64_t rows : {0U, 1U, 7U, 64U}) {
        for (const SoftmaxRule& rule : softmax_forms(ranks, access, rows)) {
          const Case c = softmax_case(rule);
          const Result<PlanFacts> facts = verify(c.slices, c.coverage);
          ASSERT_TRUE(facts.is_ok()) << c.name << ": " << facts.status().to_string();
        }
      }
    }
  }
}

/// One rank's part at a time, as far as it can go; slots hold lists of ranks in order of merging.
std::vector<std::string> simulate(const std::vector<RankPlan>& slices) {
  const std::size_t n = slices.size();
  std::vector<std::vector<std::string>> slots(n);
  std::map<std::pair<int, int>, std::queue<std::string>> lanes;
  std::vector<std::size_t> next(n, 0);
  std::vector<std::string> results(n);
  for (std::size_t rank = 0; rank < n; ++rank) {
    slots[rank].resize(slices[rank].slots.size());
    slots[rank][0] = std::string(1, static_cast<char>('a' + rank));
  }
  for (bool moves = true; moves;) {
    moves = false;
    for (std::size_t rank = 0; rank < n; ++rank) {
      while (next[rank] < slices[rank].ops.size()) {
        const Op& op = slices[rank].ops[next[rank]];
        const auto slot = static_cast<std::size_t>(op.slot);
        const int self = static_cast<int>(rank);
        auto& mine = slots[rank];
        if (op.kind == OpKind::offer || op.kind == OpKind::send) {
          lanes[{self, op.peer}].push(mine[slot]);
        } else if (op.kind == OpKind::pull || op.kind == OpKind::recv) {
          auto& lane = lanes[{op.peer, self}];
          if (lane.empty()) break;
          mine[slot] = lane.front();
          lane.pop();
        } else if (op.kind == OpKind::compute &&
                   op.code == static_cast<std::uint32_t>(ComputeCode::consume)) {
          mine[static_cast<std::size_t>(op.target_slot)] = mine[slot];
        } else if (op.kind == OpKind::compute &&
                   op.code == static_cast<std::uint32_t>(ComputeCode::merge_pair)) {
          const std::string& a = mine[slot];
          const std::string& b = mine[slot + 1];
          mine[static_cast<std::size_t>(op.target_slot)] = a[0] < b[0] ? a + b : b + a;
        } else if (op.kind == OpKind::compute) {
          results[rank] = mine[slot];
        }
        ++next[rank];
        moves = true;
      }
    }
  }
  return results;
}

TEST(SoftmaxRuleTest, DoublingMergesEveryRankOnceAndAlikeOnAllRanks) {
  for (int ranks = 2; ranks <= 24; ++ranks) {
    for (const Access access : kAccesses) {
      SoftmaxRule rule{.ranks = ranks,
                       .access = access,
                       .algorithm = MergeAlgorithm::recursive_doubling,
                       .rows = 3,
                       .row_bytes = 8};
      const auto slices = slices_of(rule, softmax_slice);
      const std::vector<std::string> results = simulate(slices);
      std::string all = results[0];
      for (const std::string& result : results) EXPECT_EQ(result, all) << ranks << " ranks";
      std::sort(all.begin(), all.end());
      std::string expected;
      for (int rank = 0; rank < ranks; ++rank) expected += static_cast<char>('a' + rank);
      EXPECT_EQ(all, expected) << ranks << " ranks";
      const auto inner = std::bit_floor(static_cast<unsigned>(ranks));
      const int rounds =
          std::countr_zero(inner) + (std::has_single_bit(static_cast<unsigned>(ranks)) ? 0 : 2);
      for (const RankPlan& slice : slices) {
        const auto arrivals = std::ranges::count_if(
            slice.ops, [](const Op& op) { return op.kind == OpKind::pull || op.kind == OpKind::recv; });
        EXPECT_LE(arrivals, rounds) << "rank " << slice.rank << " of " << ranks;
      }
    }
  }
}

TEST(SoftmaxRuleTest, MovedBytesAreThoseOfTheTable) {  // attention spec 6.6, all ranks together
  const std::uint64_t rows = 40, out = 6, statistic = 4;
  const auto moved = [&](MergeAlgorithm algorithm, bool is_scattered) {
    SoftmaxRule rule{.ranks = 4, .access = Access::two_sided, .algorithm = algorithm, .rows = rows};
    rule.row_bytes = out + statistic;
    rule.statistic_bytes = statistic;
    rule.is_scattered = is_scattered;
    return verify(slices_of(rule, softmax_slice), {}).value().bytes_moved;
  };
  EXPECT_EQ(moved(MergeAlgorithm::packed_all_to_all, true), 3 * rows * (out + statistic));
  EXPECT_EQ(moved(MergeAlgorithm::packed_all_to_all, false), 2 * 3 * rows * (out + statistic));
  EXPECT_EQ(moved(MergeAlgorithm::gather_stats, true), 4 * 3 * rows * statistic + 3 * rows * out);
  EXPECT_EQ(moved(MergeAlgorithm::gather_stats, false), 4 * 3 * rows * statistic + 2 * 3 * rows * out);
  EXPECT_EQ(moved(MergeAlgorithm::recursive_doubling, false), 4 * 2 * rows * (out + statistic));
}

TEST(SoftmaxRuleTest, ImpossibleRulesAreRefusedByName) {
  const auto refused = [](const SoftmaxRule& rule, std::string_view part) {
    const Status got = softmax_slice(rule, 0).status();
    EXPECT_EQ(got.code(), StatusCode::invalid_argument) << got.to_string();
    EXPECT_NE(got.message().find(part), std::string::npos) << got.to_string();
  };
  SoftmaxRule rule{.ranks = 2, .rows = 5, .row_bytes = 8, .counts = {2, 2}};
  refused(rule, "2 counts for 2 ranks do not cut 5 rows");
  rule.counts = {5};
  refused(rule, "1 counts for 2 ranks");
  rule.counts = {~std::uint64_t{0}, 6};
  refused(rule, "do not cut 5 rows");
  rule.counts.clear();
  rule.is_scattered = true;
  rule.algorithm = MergeAlgorithm::one_shot;
  refused(rule, "one_shot and recursive_doubling give all rows to all");
  rule.algorithm = MergeAlgorithm::gather_stats;
  rule.statistic_bytes = 9;
  refused(rule, "statistics of 9 bytes in a row of 8");
}

TEST(SoftmaxRuleTest, ResultsThatAreLeftAreHeldUntilAllHaveBeenRead) {
  SoftmaxRule rule{.ranks = 3, .rows = 7, .row_bytes = 8, .leaves_results = true};
  const RankPlan slice = softmax_slice(rule, 1).value();
  const auto position = [&](OpKind kind, int step, bool is_last) {
    const auto matches = [&](const Op& op) {
      return op.kind == kind && op.step == step && (kind != OpKind::compute || op.peer != kNone);
    };
    const auto found = is_last
                           ? std::ranges::find_if(slice.ops.rbegin(), slice.ops.rend(), matches).base() - 1
                           : std::ranges::find_if(slice.ops, matches);
    return found - slice.ops.begin();
  };
  EXPECT_LT(position(OpKind::take, 1, true), position(OpKind::compute, 1, false));
  EXPECT_LT(position(OpKind::compute, 1, true), position(OpKind::release, 1, false));
  EXPECT_LT(position(OpKind::release, 1, true), position(OpKind::reclaim, 1, false));
  EXPECT_EQ(position(OpKind::reclaim, 1, true), static_cast<std::ptrdiff_t>(slice.ops.size()) - 1);
  SoftmaxRule copied = rule;
  copied.leaves_results = false;
  EXPECT_NE(softmax_slice(copied, 1).value().signature, slice.signature);
  rule.is_scattered = true;
  EXPECT_EQ(softmax_slice(rule, 0).status().code(), StatusCode::invalid_argument);
  rule.is_scattered = false;
  rule.algorithm = MergeAlgorithm::gather_stats;
  EXPECT_EQ(softmax_slice(rule, 0).status().code(), StatusCode::invalid_argument);
}

/// The verifier sees a pair that was never exchanged.
TEST(SoftmaxRuleTest, AMissingRoundIsSeen) {
  SoftmaxRule rule{.ranks = 4, .algorithm = MergeAlgorithm::recursive_doubling, .rows = 2, .row_bytes = 8};
  Case c = softmax_case(rule);
  for (RankPlan& slice : c.slices)
    std::erase_if(slice.ops, [](const Op& op) { return op.step == 2 && op.kind != OpKind::compute; });
  const Status got = verify(c.slices, c.coverage).status();
  EXPECT_NE(got.message().find("bytes that nobody has written"), std::string::npos) << got.to_string();
}

}  // namespace
}  // namespace ringcomm::plan::testing
