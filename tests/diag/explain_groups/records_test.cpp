// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_groups/job_facts.hpp"

namespace ringcomm {
namespace {

using diag::FaultKind;
using diag::Grade;
using diag::StepFact;
using diag::Verdict;
using explain_test::Job;
using explain_test::Labels;
using explain_test::OpClass;

Job records(int ranks) {
  Job job(ranks, "record");
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
  job.group("ring", all);
  for (diag::GroupFact& group : job.evidence.groups) group.unique_id = "c1/0";
  return job;
}

StepFact& block(Job& job, int rank, bool is_incoming, int peer, std::int64_t seq, int step, std::int64_t at) {
  StepFact fact;
  fact.who = Job::who(rank);
  fact.group = "ring";
  fact.is_incoming = is_incoming;
  fact.op = OpClass::ring_rotate;
  fact.seq = seq;
  fact.step = step;
  fact.peer = peer;
  fact.posted_ns = at;
  fact.source = {rank, 0};
  job.evidence.steps.push_back(fact);
  return job.evidence.steps.back();
}

/// 0 writes slot 1 for rank 1 at 1,000 ns and again at 9,000 ns; rank 1 gives it back at `released`, or
/// never.
Job two_writes(std::optional<std::int64_t> released) {
  Job job = records(2);
  for (const int rank : {0, 1}) job.counts(rank, "ring", 3, 2).open(rank, "ring", 3, OpClass::ring_rotate);
  for (int write = 0; write < 2; ++write) {
    StepFact& out = block(job, 0, false, 1, 3, 2 * write, 1000 + 8000 * write);
    out.slot = 1;
    out.epoch = static_cast<std::uint32_t>(5 + write);
  }
  StepFact& in = block(job, 1, true, 0, 3, 0, 900);
  in.arrived_ns = 1500;
  in.released_ns = released;
  return job;
}

TEST(RecordsTest, ASlotWrittenBeforeItsReaderGaveItBack) {
  for (const auto released : {std::optional<std::int64_t>(), std::optional<std::int64_t>(12'000)}) {
    const Verdict verdict = explain(two_writes(released).evidence);
    EXPECT_EQ(verdict.kind, FaultKind::slot_reuse);
    EXPECT_EQ(verdict.culprits, Labels{"0"});
    EXPECT_EQ(verdict.victims, Labels{"1"});
    EXPECT_EQ(verdict.grade, Grade::certain);
    EXPECT_EQ(verdict.seq, "3");
  }
}

TEST(RecordsTest, ASlotGivenBackInTimeIsNoReuse) {
  EXPECT_NE(explain(two_writes(8'000).evidence).kind, FaultKind::slot_reuse);
  EXPECT_NE(explain(two_writes(9'900).evidence).kind, FaultKind::slot_reuse);  // within the clocks' margin
  Job job = two_writes(12'000);
  for (StepFact& step : job.evidence.steps) step.epoch = 0;  // not known
  EXPECT_NE(explain(job.evidence).kind, FaultKind::slot_reuse);
}

/// A ring of three in call 4: everybody waits at `step` for the block of the one before.
TEST(RecordsTest, ARankThatLeftTheLoopEarly) {
  Job job = records(3);
  for (const int rank : {0, 2}) job.counts(rank, "ring", 4, 3).open(rank, "ring", 4, OpClass::ring_rotate);
  job.counts(1, "ring", 4, 4).done(1, "ring", 4, OpClass::ring_rotate);
  block(job, 2, true, 1, 4, 2, 5000);  // waits for 1, which is gone
  block(job, 0, true, 2, 4, 2, 5000);
  block(job, 1, false, 2, 4, 1, 4000).released_ns = 4500;
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::ring_step_mismatch);
  EXPECT_EQ(verdict.culprits, Labels{"1"});
  EXPECT_EQ(verdict.victims, (Labels{"0", "2"}));
  EXPECT_EQ(verdict.op, "ring_rotate, step 2");
}

TEST(RecordsTest, ARankThatWorksOnItsBlockHoldsTheOthers) {
  Job job = records(3);
  for (const int rank : {0, 1, 2}) job.counts(rank, "ring", 4, 3).open(rank, "ring", 4, OpClass::ring_rotate);
  block(job, 1, true, 0, 4, 0, 4000).arrived_ns = 4100;
  block(job, 2, true, 1, 4, 1, 5000);
  block(job, 0, true, 2, 4, 1, 5000);
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::rank_not_entered);
  EXPECT_EQ(verdict.culprits, Labels{"1"});
  EXPECT_EQ(verdict.grade, Grade::likely);
}

TEST(RecordsTest, ARankThatNeverCame) {
  Job job = records(3);
  for (const int rank : {0, 2}) job.counts(rank, "ring", 4, 3).open(rank, "ring", 4, OpClass::ring_rotate);
  job.counts(1, "ring", 3, 3);
  block(job, 2, true, 1, 4, 0, 5000);
  block(job, 0, true, 2, 4, 1, 5000);
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::rank_not_entered);
  EXPECT_EQ(verdict.culprits, Labels{"1"});
  EXPECT_EQ(verdict.victims, (Labels{"0", "2"}));
}

TEST(RecordsTest, ABlockOnItsWayIsNobodysFault) {
  Job job = records(2);
  for (const int rank : {0, 1}) job.counts(rank, "ring", 4, 3).open(rank, "ring", 4, OpClass::ring_rotate);
  for (const int rank : {0, 1}) {
    block(job, rank, false, 1 - rank, 4, 0, 4000).released_ns = 4001;
    block(job, rank, true, 1 - rank, 4, 0, 4100);
  }
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::all_entered_no_progress);
  EXPECT_EQ(verdict.culprits, Labels{});
}

TEST(RecordsTest, ViewsOfOneCommunicatorThatDisagree) {
  Job job = records(4);
  job.evidence.groups[2].ranks = {0, 2, 1, 3};
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::plan_mismatch);
  EXPECT_EQ(verdict.culprits, Labels{"2"});
}

}  // namespace
}  // namespace ringcomm
