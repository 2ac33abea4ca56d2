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

/// A ring of `ranks` in which `early` does one step less. As dumps show it: the neighbour before the one
/// behind has completed the last step although others have not.
Job ring(int ranks, int early) {
  Job job(ranks);
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
  job.group("cp_0", all, "context_parallel");
  for (int rank = 0; rank < ranks; ++rank) {
    const int next = (rank + 1) % ranks;
    const int before = (rank + ranks - 1) % ranks;
    const bool is_beside = next == early || before == early;
    const int steps = rank == early ? 3 : 4;
    for (int step = 1; step <= steps; ++step) {
      const bool is_open = step == 4 && is_beside;
      job.message(rank, "cp_0", true, next, step, is_open).coalesced = 100 + step;
      job.message(rank, "cp_0", false, before, step, is_open).coalesced = 100 + step;
    }
    job.counts(rank, "cp_0", steps, is_beside ? 3 : steps);
  }
  return job;
}

TEST(P2pSinksTest, BothNeighboursWaitForTheRankThatLeftTheRing) {
  for (const int early : {0, 2, 4}) {
    const Verdict verdict = explain(ring(5, early).evidence);
    EXPECT_EQ(verdict.kind, FaultKind::ring_step_mismatch);
    EXPECT_EQ(verdict.culprits, Labels{std::to_string(early)});
    EXPECT_EQ(verdict.op, "KV ring send/recv, step 4");
    EXPECT_EQ(verdict.seq, "p2p 4");
    EXPECT_EQ(verdict.grade, Grade::certain);
    EXPECT_EQ(verdict.victims.size(), 2u);
  }
}

TEST(P2pSinksTest, SendsThatAreNotGroupedWaitForOneAnother) {
  Job job(2);
  job.group("0", {0, 1}, "default_pg");
  for (const int rank : {0, 1}) {
    job.counts(rank, "0", 2, 0);
    job.message(rank, "0", true, 1 - rank, 1, true);
    job.message(rank, "0", false, 1 - rank, 2, true);
  }
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::p2p_cycle);
  EXPECT_EQ(verdict.op, "send 0->1 / send 1->0");
  EXPECT_EQ(verdict.seq, "p2p 1");
  EXPECT_EQ(verdict.culprits, Labels{});
  EXPECT_EQ(verdict.suspects, (Labels{"0", "1"}));
}

TEST(P2pSinksTest, GroupedSendsAndReceivesAreNoCycle) {
  Job job(2);
  job.group("0", {0, 1}, "default_pg");
  for (const int rank : {0, 1}) {
    job.counts(rank, "0", 1, 0);
    job.message(rank, "0", true, 1 - rank, 1, true).coalesced = 1;
    job.message(rank, "0", false, 1 - rank, 1, true).coalesced = 1;
  }
  EXPECT_EQ(explain(job.evidence).kind, FaultKind::all_entered_no_progress);
}

TEST(P2pSinksTest, AReceiveFromANewPeerIsTheWrongPeer) {
  // 1 used to receive from 0 and now expects data of 2, which has finished.
  Job job(3);
  job.group("pp", {0, 1, 2});
  for (int k = 1; k <= 3; ++k) {
    job.message(0, "pp", true, 1, k, false);
    job.message(1, "pp", false, 0, k, false);
  }
  job.message(2, "pp", true, 0, 1, false);
  job.message(0, "pp", false, 2, 4, false);
  job.message(1, "pp", false, 2, 4, true);
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::p2p_unmatched);
  EXPECT_EQ(verdict.culprits, Labels{"1"});
}

TEST(P2pSinksTest, AnOpenReceiveOfACompletedSendIsNoFault) {
  Job job(2);
  job.group("pp", {0, 1});
  job.message(0, "pp", true, 1, 1, false);
  job.message(1, "pp", false, 0, 1, true);
  job.counts(0, "pp", 1, 1).counts(1, "pp", 1, 0);
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::all_entered_no_progress);
  EXPECT_EQ(verdict.culprits, Labels{});
}

}  // namespace
}  // namespace ringcomm
