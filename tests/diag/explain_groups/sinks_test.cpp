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

/// Four ranks in one group; `late` has made one call less.
Job one_late(int late) {
  Job job(4);
  job.group("7", {0, 1, 2, 3}, "data_parallel");
  for (int rank = 0; rank < 4; ++rank) {
    if (rank == late) {
      job.counts(rank, "7", 99, 99);
    } else {
      job.counts(rank, "7", 101, 99).open(rank, "7", 100);
      job.open(rank, "7", 101);
    }
  }
  return job;
}

TEST(SinksTest, TheRankThatDidNotMakeTheCallIsTheCulprit) {
  for (const int late : {0, 2, 3}) {
    const Verdict verdict = explain(one_late(late).evidence);
    EXPECT_EQ(verdict.kind, FaultKind::rank_not_entered);
    EXPECT_EQ(verdict.culprits, Labels{std::to_string(late)});
    EXPECT_EQ(verdict.victims.size(), 3u);
    EXPECT_EQ(verdict.seq, "100");
    EXPECT_EQ(verdict.op, "all_reduce(1024)");
    EXPECT_EQ(verdict.group, "7:data_parallel");
    EXPECT_EQ(verdict.grade, Grade::certain);
  }
}

TEST(SinksTest, TheMissingMayBeTheMajority) {
  Job job(5);
  job.group("0", {0, 1, 2, 3, 4}, "default_pg");
  for (const int rank : {0, 4}) job.counts(rank, "0", 10, 9).open(rank, "0", 10);
  for (const int rank : {1, 2, 3}) job.counts(rank, "0", 9, 9);
  EXPECT_EQ(explain(job.evidence).culprits, (Labels{"1", "2", "3"}));
}

TEST(SinksTest, WhoWaitsElsewhereIsNoCulprit) {
  // 0 misses 1 in A; 1 misses 2 in B; 2 waits for nobody.
  Job job(3);
  job.group("A", {0, 1}).group("B", {1, 2});
  job.counts(0, "A", 5, 4).counts(1, "A", 4, 4).counts(1, "B", 8, 7).counts(2, "B", 7, 7);
  job.open(0, "A", 5);
  job.open(1, "B", 8);
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.culprits, Labels{"2"});
  EXPECT_EQ(verdict.victims, (Labels{"0", "1"}));
  EXPECT_EQ(verdict.group, "B");
}

TEST(SinksTest, TwoGroupsWithACulpritEachAreNamedTogether) {
  Job job(4);
  job.group("73", {0, 1}, "EXPERT").group("74", {2, 3}, "EXPERT");
  job.counts(0, "73", 2, 1).counts(1, "73", 1, 1).counts(2, "74", 6, 5).counts(3, "74", 5, 5);
  job.open(0, "73", 2, OpClass::all_to_all);
  job.open(2, "74", 6, OpClass::all_to_all);
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.culprits, (Labels{"1", "3"}));
  EXPECT_EQ(verdict.group, "EXPERT names 73 [0..1] and 74 [2..3]");
  EXPECT_EQ(verdict.op, "all_to_all");
  EXPECT_EQ(verdict.seq, "");
}

/// Two ranks hold calls that the two others saw finish.
Job lagging(OpClass op) {
  Job job(4);
  job.group("E", {0, 1, 2, 3}, "expert");
  for (const int rank : {0, 2}) {
    job.counts(rank, "E", 20, 16);
    for (int seq = 17; seq <= 20; ++seq) job.open(rank, "E", seq, op);
  }
  for (const int rank : {1, 3}) {
    job.counts(rank, "E", 22, 20);
    for (int seq = 21; seq <= 22; ++seq) job.open(rank, "E", seq, op);
  }
  return job;
}

TEST(SinksTest, ACallThatPeersSawFinishIsAStuckDevice) {
  const Verdict verdict = explain(lagging(OpClass::all_to_all).evidence);
  EXPECT_EQ(verdict.kind, FaultKind::gpu_fault);
  EXPECT_EQ(verdict.culprits, (Labels{"0", "2"}));
  EXPECT_EQ(verdict.seq, "17");
  EXPECT_EQ(verdict.grade, Grade::likely);
}

TEST(SinksTest, ARootMayBeAhead) {
  // 0 sent its broadcast and went on; 3 never came.
  Job job(4);
  job.group("0", {0, 1, 2, 3}, "default_pg");
  job.counts(0, "0", 12, 11).open(0, "0", 12, OpClass::all_gather);
  for (const int rank : {1, 2}) job.counts(rank, "0", 10, 9).open(rank, "0", 10, OpClass::broadcast);
  job.counts(3, "0", 9, 9);
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::rank_not_entered);
  EXPECT_EQ(verdict.culprits, Labels{"3"});
  EXPECT_EQ(verdict.seq, "10");
}

TEST(SinksTest, CountsOfMessagesAreNotCompared) {
  // A pipeline group: counts are per rank; nobody has an open call but 0, which waits for 1 in another group.
  Job job(3);
  job.group("P", {0, 1, 2}).group("T", {1, 2});
  job.counts(0, "P", 500, 499).counts(1, "P", 900, 900).counts(2, "P", 20, 20);
  job.counts(1, "T", 4, 3).counts(2, "T", 3, 3);
  job.open(1, "T", 4);
  job.message(0, "P", false, 1, 500, true);
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::rank_not_entered);
  EXPECT_EQ(verdict.culprits, Labels{"2"});
  EXPECT_EQ(verdict.victims, (Labels{"0", "1"}));
}

TEST(SinksTest, AllInAndEqualHasNoCulprit) {
  Job job(3);
  job.group("1", {0, 1, 2}, "dp");
  for (int rank = 0; rank < 3; ++rank) job.counts(rank, "1", 5, 4).open(rank, "1", 5);
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::all_entered_no_progress);
  EXPECT_EQ(verdict.culprits, Labels{});
  EXPECT_EQ(verdict.victims, (Labels{"0", "1", "2"}));
  EXPECT_EQ(verdict.grade, Grade::cannot_tell);
  EXPECT_EQ(verdict.seq, "5");
}

TEST(SinksTest, ASilentRankIsASuspectOnly) {
  Job job(3, "watchdog_log");
  job.group("0", {0, 1, 2, 3}, "default_pg");
  job.evidence.groups.pop_back();
  for (int rank = 0; rank < 3; ++rank) job.counts(rank, "0", 5, 4).open(rank, "0", 5);
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::rank_not_entered);
  EXPECT_EQ(verdict.culprits, Labels{});
  EXPECT_EQ(verdict.suspects, Labels{"3"});
  EXPECT_EQ(verdict.grade, Grade::possible);
  EXPECT_EQ(verdict.ranks_without_evidence, Labels{"3"});
}

TEST(SinksTest, ASilentRankWhoseProgramMovesIsLate) {
  Job job(3, "watchdog_log");
  job.group("0", {0, 1, 2, 3}, "default_pg");
  job.evidence.groups.pop_back();
  for (int rank = 0; rank < 3; ++rank) job.counts(rank, "0", 5, 4).open(rank, "0", 5);
  diag::EventFact progress;
  progress.kind = diag::EventKind::progress;
  progress.detail = "tokenizing";
  job.evidence.events.push_back(progress);
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::rank_not_entered);
  EXPECT_EQ(verdict.culprits, Labels{"3"});
  EXPECT_EQ(verdict.grade, Grade::likely);
}

TEST(SinksTest, UnreadableDumpsDecideNothing) {
  Job job(4);
  job.group("0", {0, 1, 2, 3}, "default_pg");
  for (const int rank : {1, 3}) {
    job.evidence.files[static_cast<std::size_t>(rank)].ranks.clear();
    job.evidence.unread.push_back(
        {job.evidence.files[static_cast<std::size_t>(rank)].path, Status::corrupt_data("empty (0 bytes)")});
  }
  std::erase_if(job.evidence.groups, [](const diag::GroupFact& fact) { return fact.who.rank % 2 == 1; });
  for (const int rank : {0, 2}) job.counts(rank, "0", 901, 900).open(rank, "0", 901);
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::insufficient_evidence);
  EXPECT_EQ(verdict.culprits, Labels{});
  EXPECT_EQ(verdict.suspects, (Labels{"1", "3"}));
  EXPECT_EQ(verdict.seq, "901");
}

TEST(SinksTest, AnIdleDumpAmongMissingOnesIsEnough) {
  // Rank 4's dump is lost; rank 1's shows that it never came.
  Job job(4);
  job.group("0", {0, 1, 2, 3, 4}, "default_pg");
  job.evidence.groups.pop_back();
  for (const int rank : {0, 2, 3}) job.counts(rank, "0", 5, 4).open(rank, "0", 5);
  job.counts(1, "0", 4, 4);
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.culprits, Labels{"1"});
  EXPECT_EQ(verdict.grade, Grade::certain);
}

}  // namespace
}  // namespace ringcomm
