// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

TEST(RasAbsencesTest, AProcessThatDoesNotAnswerIsUnresponsive) {
  Facts facts;
  facts.event(EventKind::unresponsive, Facts::rank(2), "missing rank 2").group = "0xae";
  facts.event(EventKind::progress, Facts::rank(0), "step 7");
  const Candidate found = found_by(facts.evidence, "ras_unresponsive");
  EXPECT_EQ(found.verdict.kind, FaultKind::rank_unresponsive);
  EXPECT_EQ(found.verdict.grade, Grade::likely);
  EXPECT_EQ(found.verdict.culprits, Labels{"2"});
  EXPECT_EQ(found.verdict.group, "0xae");
}

TEST(RasAbsencesTest, AProcessInsideACommunicatorOnlyIsNamedAsPrinted) {
  Facts facts;
  facts.evidence.world_size = 10;
  Who who = Facts::process("", 6004, 0);
  who.address = "10.0.1.13";
  who.group_rank = 1;
  who.name = "process 6004 on 10.0.1.13 (rank 1 of comm b339)";
  GroupFact& group = facts.evidence.groups.emplace_back();
  group.key = group.name = "#0-0";
  group.unique_id = "b339";
  group.size = 2;
  group.source = {0, 1};
  facts.event(EventKind::missing_process, who, "Rank 1 -- GPU 0 managed by process 6004").group = "#0-0";
  Who garbage;
  garbage.group_rank = 1057455228;
  facts.event(EventKind::missing_process, garbage, "Rank 1057455228").group = "#0-0";
  const Candidate found = found_by(facts.evidence, "ras_missing");
  EXPECT_EQ(found.verdict.kind, FaultKind::rank_died);
  EXPECT_EQ(found.verdict.culprits, Labels{"process 6004 on 10.0.1.13 (rank 1 of comm b339)"});
  EXPECT_EQ(found.verdict.group, "#0-0 (b339)");
}

TEST(RasAbsencesTest, DeadOutweighsSilent) {
  Facts facts;
  facts.event(EventKind::considered_dead, Facts::rank(1), "considered dead");
  facts.event(EventKind::unresponsive, Facts::rank(3), "unresponsive");
  EXPECT_EQ(found_by(facts.evidence, "ras_dead").verdict.culprits, Labels{"1"});
  EXPECT_FALSE(has_rule(facts.evidence, "ras_unresponsive"));
}

TEST(RasAbsencesTest, AStoppedProcessIsUnresponsive) {
  Facts facts;
  facts.event(EventKind::stopped, Facts::rank(4), "State: T (stopped)");
  const Candidate found = found_by(facts.evidence, "process_stopped");
  EXPECT_EQ(found.verdict.kind, FaultKind::rank_unresponsive);
  EXPECT_EQ(found.verdict.culprits, Labels{"4"});
}

TEST(RasAbsencesTest, WhatTheHostSaysOfAProcessWeighsMoreThanWaits) {
  Facts facts;
  facts.evidence.world_size = 3;
  facts.event(EventKind::missing_process, Facts::rank(0), "process 7 of rank 0").detail = "no such process";
  const Candidate gone = found_by(facts.evidence, "process_gone");
  EXPECT_EQ(gone.verdict.kind, FaultKind::rank_died);
  EXPECT_EQ(gone.verdict.culprits, Labels{"0"});
  EXPECT_EQ(gone.verdict.grade, Grade::certain);
  EXPECT_EQ(gone.weight, Weight::root);
  EXPECT_FALSE(has_rule(facts.evidence, "ras_missing"));
  Facts stopped;
  stopped.event(EventKind::stopped, Facts::rank(2), "process 8 of rank 2").detail = "state T";
  EXPECT_EQ(found_by(stopped.evidence, "process_seen_stopped").weight, Weight::root);
  EXPECT_EQ(found_by(stopped.evidence, "process_seen_stopped").verdict.kind, FaultKind::rank_unresponsive);
}

TEST(RasAbsencesTest, AJobWithoutAnyProcessHasNoCulprit) {
  Facts facts;
  facts.evidence.world_size = 2;
  for (const int rank : {0, 1})
    facts.event(EventKind::missing_process, Facts::rank(rank), "process").detail = "no such process";
  const Candidate found = found_by(facts.evidence, "process_gone");
  EXPECT_EQ(found.verdict.culprits, Labels{});
  EXPECT_EQ(found.verdict.suspects, (Labels{"0", "1"}));
  EXPECT_EQ(found.weight, Weight::ordinary);
}

}  // namespace
}  // namespace ringcomm::diag
