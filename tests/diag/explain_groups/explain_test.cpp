// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/diag/explain.hpp"

#include <gtest/gtest.h>

#include "diag/explain_groups/job_facts.hpp"

namespace ringcomm {
namespace {

using diag::FaultKind;
using diag::Verdict;
using explain_test::Job;
using explain_test::Labels;

Job rank_two_late() {
  Job job(3);
  job.group("0", {0, 1, 2}, "default_pg");
  for (const int rank : {0, 1}) job.counts(rank, "0", 5, 4).open(rank, "0", 5);
  job.counts(2, "0", 4, 4);
  return job;
}

TEST(ExplainTest, AnEarlierFailureOfTheSameRankNamesTheKind) {
  Job job = rank_two_late();
  diag::EventFact died;
  died.kind = diag::EventKind::exit_code;
  died.who = Job::who(2);
  died.code = -9;
  died.text = "rank 2 exitcode -9";
  job.evidence.events.push_back(died);
  const Verdict verdict = explain(job.evidence);
  EXPECT_EQ(verdict.kind, FaultKind::rank_died);
  EXPECT_EQ(verdict.culprits, Labels{"2"});
  EXPECT_EQ(verdict.group, "0:default_pg");
  EXPECT_EQ(verdict.seq, "5");
  EXPECT_EQ(verdict.victims, (Labels{"0", "1"}));
}

TEST(ExplainTest, EveryVerdictIsWhole) {
  const Verdict verdict = explain(rank_two_late().evidence);
  EXPECT_GE(verdict.fix.size(), 20u);
  EXPECT_FALSE(verdict.title.empty());
  EXPECT_FALSE(verdict.why.empty());
  EXPECT_FALSE(verdict.evidence.empty());
  EXPECT_FALSE(verdict.counter_check.empty());
  EXPECT_FALSE(verdict.collect.empty());
  EXPECT_EQ(verdict.world_size, 3);
  ASSERT_EQ(verdict.groups.size(), 1u);
  EXPECT_EQ(verdict.groups[0].members.size(), 3u);
  EXPECT_EQ(verdict.groups[0].stuck_seq, "5");
  EXPECT_EQ(verdict.graph.size(), 2u);
  EXPECT_TRUE(verdict.ranks_without_evidence.empty());
}

TEST(ExplainTest, ConsequencesDoNotChangeTheAnswer) {
  Job job = rank_two_late();
  for (const diag::EventKind kind : {diag::EventKind::aborted, diag::EventKind::timeout}) {
    diag::EventFact event;
    event.kind = kind;
    event.who = Job::who(0);
    job.evidence.events.push_back(event);
  }
  EXPECT_EQ(explain(job.evidence).kind, FaultKind::rank_not_entered);
  EXPECT_EQ(explain(job.evidence).culprits, Labels{"2"});
}

}  // namespace
}  // namespace ringcomm
