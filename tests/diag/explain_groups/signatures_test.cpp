// SPDX-License-Identifier: Apache-2.0
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

Job equal_calls(int ranks, bool has_history) {
  Job job(ranks);
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
  job.group("0", all, "default_pg");
  for (int rank = 0; rank < ranks; ++rank) {
    job.counts(rank, "0", 5, 4);
    if (has_history) job.done(rank, "0", 4);
    job.open(rank, "0", 5);
  }
  return job;
}

diag::OpFact& last_of(Job& job, int rank) {
  diag::OpFact* last = nullptr;
  for (diag::OpFact& op : job.evidence.ops) {
    if (op.who.rank == rank) last = &op;
  }
  return *last;
}

TEST(SignaturesTest, AnotherOperationAgainstTheMajority) {
  for (const int odd : {0, 3}) {
    Job job = equal_calls(4, true);
    last_of(job, odd).op = OpClass::broadcast;
    last_of(job, odd).name = "BROADCAST";
    last_of(job, odd).elements_in = last_of(job, odd).elements_out = 7;
    const Verdict verdict = explain(job.evidence);
    EXPECT_EQ(verdict.kind, FaultKind::op_mismatch);
    EXPECT_EQ(verdict.culprits, Labels{std::to_string(odd)});
    EXPECT_EQ(verdict.op,
              "BROADCAST(7) on rank " + std::to_string(odd) + " against all_reduce(1024) on the others");
    EXPECT_EQ(verdict.seq, "5");
    EXPECT_EQ(verdict.grade, Grade::certain);
    EXPECT_EQ(verdict.victims.size(), 3u);
  }
}

TEST(SignaturesTest, WithoutHistoryTheMajorityIsLikely) {
  Job job = equal_calls(4, false);
  last_of(job, 2).elements_in = 9;
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::size_mismatch);
  EXPECT_EQ(verdict.culprits, Labels{"2"});
  EXPECT_EQ(verdict.grade, Grade::likely);
  EXPECT_EQ(verdict.op, "all_reduce");
}

TEST(SignaturesTest, EqualHalvesHaveNoCulprit) {
  Job job = equal_calls(4, true);
  last_of(job, 1).elements_in = last_of(job, 2).elements_in = 9;
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::size_mismatch);
  EXPECT_EQ(verdict.culprits, Labels{});
  EXPECT_EQ(verdict.suspects, (Labels{"0", "1", "2", "3"}));
}

TEST(SignaturesTest, TwoOfEightKnownRanksAreNoMajority) {
  Job job = equal_calls(8, false);
  std::erase_if(job.evidence.ops, [](const diag::OpFact& op) { return op.who.rank > 2; });
  last_of(job, 1).elements_in = 9;
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::size_mismatch);
  EXPECT_EQ(verdict.culprits, Labels{});
  EXPECT_EQ(verdict.grade, Grade::likely);
}

TEST(SignaturesTest, TypeAndReductionAreCompared) {
  Job job = equal_calls(3, true);
  for (diag::OpFact& op : job.evidence.ops) op.dtype = "float", op.reduce_op = "sum";
  last_of(job, 2).dtype = "bfloat16";
  EXPECT_EQ(explain(job.evidence).kind, FaultKind::dtype_mismatch);
  EXPECT_EQ(explain(job.evidence).culprits, Labels{"2"});
  last_of(job, 2).dtype = "FLOAT";
  EXPECT_EQ(explain(job.evidence).kind, FaultKind::all_entered_no_progress);
  last_of(job, 1).reduce_op = "max";
  EXPECT_EQ(explain(job.evidence).kind, FaultKind::op_mismatch);
  EXPECT_EQ(explain(job.evidence).culprits, Labels{"1"});
  last_of(job, 1).reduce_op = "";  // not told
  EXPECT_EQ(explain(job.evidence).kind, FaultKind::all_entered_no_progress);
}

TEST(SignaturesTest, PlansDifferWhereEverythingElseIsEqual) {
  Job job = equal_calls(3, true);
  for (diag::OpFact& op : job.evidence.ops) op.signature = 77;
  last_of(job, 0).elements_in = 9;
  EXPECT_EQ(explain(job.evidence).kind, FaultKind::size_mismatch);
  for (diag::OpFact& op : job.evidence.ops) op.op = diag::OpClass::ring_rotate;
  // Blocks of a rotation may differ: equal plans agree whatever a rank's own size is.
  EXPECT_EQ(explain(job.evidence).kind, FaultKind::all_entered_no_progress);
  last_of(job, 0).elements_in = 1024;
  last_of(job, 0).signature = 78;
  EXPECT_EQ(explain(job.evidence).kind, FaultKind::plan_mismatch);
  EXPECT_EQ(explain(job.evidence).culprits, Labels{"0"});
}

/// An all_to_all in which rank r sends `in[r]` and expects `out[r]`.
Job exchange(const std::vector<std::int64_t>& in, const std::vector<std::int64_t>& out) {
  Job job(static_cast<int>(in.size()));
  std::vector<int> all;
  for (std::size_t rank = 0; rank < in.size(); ++rank) all.push_back(static_cast<int>(rank));
  job.group("6", all, "ulysses");
  for (const int rank : all) {
    job.counts(rank, "6", 18, 17);
    diag::OpFact& op = job.open(rank, "6", 18, OpClass::all_to_all);
    op.elements_in = in[static_cast<std::size_t>(rank)];
    op.elements_out = out[static_cast<std::size_t>(rank)];
  }
  return job;
}

TEST(SignaturesTest, SplitsAreComparedBySums) {
  const Verdict verdict = explain(exchange({8, 8, 12, 8}, {8, 8, 8, 8}).evidence);
  EXPECT_EQ(verdict.kind, FaultKind::size_mismatch);
  EXPECT_EQ(verdict.culprits, Labels{"2"});
  EXPECT_EQ(verdict.op, "all_to_all");
  EXPECT_EQ(verdict.seq, "18");
  EXPECT_EQ(explain(exchange({8, 4, 12, 8}, {12, 8, 4, 8}).evidence).kind,
            FaultKind::all_entered_no_progress);
  const Verdict unclear = explain(exchange({9, 4, 12, 8}, {12, 8, 4, 8}).evidence);
  EXPECT_EQ(unclear.kind, FaultKind::size_mismatch);
  EXPECT_EQ(unclear.culprits, Labels{});
}

TEST(SignaturesTest, OneCallLessInOneLineIsBehind) {
  Job job(1, "fingerprint");
  job.open(1, "", 1, OpClass::barrier, -1).source = {0, 1};
  job.open(2, "", 0, OpClass::barrier, -1).source = {0, 1};
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::rank_behind);
  EXPECT_EQ(verdict.culprits, Labels{});
  EXPECT_EQ(verdict.suspects, Labels{"2"});
  EXPECT_EQ(verdict.seq, "1 / 0");
  EXPECT_EQ(verdict.op, "barrier");
  EXPECT_EQ(verdict.grade, Grade::possible);
}

TEST(SignaturesTest, GroupsOfOneNameThatOverlap) {
  Job job(4);
  for (const int rank : {0, 1, 2}) job.view(rank, "cp", {0, 1, 2, 3});
  job.view(3, "cp", {2, 3});
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::plan_mismatch);
  EXPECT_EQ(verdict.culprits, Labels{"3"});
  Job split(4);
  split.group("cp", {0, 1}).group("cp", {2, 3});
  EXPECT_NE(explain(split.evidence).kind, FaultKind::plan_mismatch);
}

}  // namespace
}  // namespace ringcomm
