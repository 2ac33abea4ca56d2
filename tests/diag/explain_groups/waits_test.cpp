// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/groups/waits.hpp"

#include <gtest/gtest.h>

#include "diag/explain_groups/job_facts.hpp"

namespace ringcomm {
namespace {

using diag::FaultKind;
using diag::Grade;
using diag::Verdict;
using explain_test::Job;
using explain_test::Labels;
using explain_test::OpClass;
using explain_test::Tri;

/// 0 and 1 are in A and have not come to B; 2 and 3 the other way round.
Job inverted() {
  Job job(4);
  job.group("A", {0, 1, 2, 3}).group("B", {0, 1, 2, 3});
  for (const int rank : {0, 1}) {
    job.counts(rank, "A", 11, 10).counts(rank, "B", 6, 6);
    job.open(rank, "A", 11, OpClass::all_to_all);
  }
  for (const int rank : {2, 3}) {
    job.counts(rank, "A", 10, 10).counts(rank, "B", 7, 6);
    job.open(rank, "B", 7, OpClass::all_gather);
  }
  return job;
}

TEST(WaitsTest, GroupsInDifferentOrderAreACycle) {
  const Verdict verdict = explain(inverted().evidence);
  EXPECT_EQ(verdict.kind, FaultKind::order_inversion);
  EXPECT_EQ(verdict.grade, Grade::certain);
  EXPECT_EQ(verdict.culprits, Labels{});
  EXPECT_EQ(verdict.group, "A against B");
  EXPECT_EQ(verdict.op, "all_to_all 11 / all_gather 7");
  ASSERT_EQ(verdict.cycle.size(), 2u);
  EXPECT_EQ(verdict.cycle[0].from, "0");
  EXPECT_EQ(verdict.cycle[0].to, "2");
  EXPECT_EQ(verdict.cycle[1].from, "2");
  EXPECT_EQ(verdict.cycle[1].to, "0");
}

TEST(WaitsTest, ACycleThatWaitsForSomebodyElseIsNotTheCause) {
  Job job = inverted();
  job.group("A", {0, 1, 2, 3});  // seen twice: no harm
  // Rank 4 is a member of A as well and is in nothing: everybody's wait ends there.
  Job five(5);
  five.group("A", {0, 1, 2, 3, 4}).group("B", {0, 1, 2, 3});
  for (const diag::CounterFact& fact : job.evidence.counters) five.evidence.counters.push_back(fact);
  for (const diag::OpFact& fact : job.evidence.ops) five.evidence.ops.push_back(fact);
  five.counts(4, "A", 10, 10);
  const Verdict verdict = explain(five.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::rank_not_entered);
  EXPECT_EQ(verdict.culprits, Labels{"4"});
}

/// Both groups are entered by all, in different order.
Job crossed(bool has_starts) {
  Job job(2);
  job.group("A", {0, 1}).group("B", {0, 1});
  for (const int rank : {0, 1}) {
    job.counts(rank, "A", 3, 2).counts(rank, "B", 3, 2);
    job.open(rank, rank == 0 ? "A" : "B", 3).started = has_starts ? Tri::yes : Tri::unknown;
    job.open(rank, rank == 0 ? "B" : "A", 3).started = has_starts ? Tri::no : Tri::unknown;
  }
  return job;
}

TEST(WaitsTest, BothGroupsEnteredByAllIsTwoCommunicatorsAtOnce) {
  const Verdict verdict = explain(crossed(true).evidence);
  EXPECT_EQ(verdict.kind, FaultKind::concurrent_communicators);
  EXPECT_EQ(verdict.grade, Grade::likely);
  EXPECT_EQ(explain(crossed(false).evidence).grade, Grade::possible);
}

TEST(WaitsTest, TheSameOrderIsNoCycle) {
  Job job(2);
  job.group("A", {0, 1}).group("B", {0, 1});
  for (const int rank : {0, 1}) {
    job.counts(rank, "A", 3, 2).counts(rank, "B", 3, 2);
    job.open(rank, "A", 3);
    job.open(rank, "B", 3);
  }
  EXPECT_EQ(explain(job.evidence).kind, FaultKind::all_entered_no_progress);
}

std::size_t work_of(int ranks) {
  Job job(ranks);
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
  for (int rank = 0; rank < ranks; ++rank) {
    job.view(rank, "0", rank == 0 ? all : all, "default_pg");
    job.view(rank, "t" + std::to_string(rank / 4),
             {rank / 4 * 4, rank / 4 * 4 + 1, rank / 4 * 4 + 2, rank / 4 * 4 + 3});
    const std::int64_t made = rank == 5 ? 99 : 101;
    job.counts(rank, "0", made, 99);
    if (made > 99) job.open(rank, "0", 100);
  }
  const diag::JobPicture picture = diag::picture_of(job.evidence);
  const diag::WaitGraph graph = diag::wait_graph_of(picture);
  EXPECT_EQ(graph.sinks(), std::vector<int>{5});
  EXPECT_EQ(graph.sets.size(), 1u);
  return graph.work;
}

TEST(WaitsTest, WorkIsLinearInRanks) {
  const std::size_t small = work_of(64);
  const std::size_t large = work_of(256);
  EXPECT_LE(large, 4 * small + 64);
}

TEST(WaitsTest, AnEmptyJobHasNoVerdict) {
  const Verdict verdict = diag::explain({});
  EXPECT_EQ(verdict.kind, FaultKind::insufficient_evidence);
  EXPECT_EQ(verdict.grade, Grade::cannot_tell);
  EXPECT_FALSE(verdict.title.empty());
}

}  // namespace
}  // namespace ringcomm
