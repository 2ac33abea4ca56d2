// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

TEST(DeathsTest, TheKilledRankIsTheCulpritAndItsPeersAreVictims) {
  Facts facts;
  facts.event_at(EventKind::async_error, Facts::rank(1), "NCCL error: remote process exited", 100);
  facts.event_at(EventKind::async_error, Facts::rank(2), "NCCL error: remote process exited", 100);
  EventFact& exit = facts.event_at(EventKind::exit_code, Facts::rank(0), "exitcode : -9", 99);
  exit.code = -9;
  const Candidate found = found_by(facts.evidence, "process_ended");
  EXPECT_EQ(found.verdict.kind, FaultKind::rank_died);
  EXPECT_EQ(found.verdict.grade, Grade::certain);
  EXPECT_EQ(found.weight, Weight::root);
  EXPECT_EQ(found.verdict.culprits, Labels{"0"});
  EXPECT_EQ(found.verdict.victims, (Labels{"1", "2"}));
  ASSERT_FALSE(found.verdict.evidence.empty());
  EXPECT_EQ(found.verdict.evidence.front().where.to_text(), "job.log:3");
}

TEST(DeathsTest, WhatTheLauncherEndsIsAConsequence) {
  Facts facts;
  facts.timeout(1, 7);
  facts.evidence.events.back().time_ns = 100'000'000'000;
  facts.event_at(EventKind::exit_code, Facts::rank(0), "exitcode : -9", 130).code = -9;
  facts.event(EventKind::exit_code, Facts::rank(2), "exitcode : -15").code = -15;
  facts.event(EventKind::exit_code, Facts::rank(3), "exitcode : -6").code = -6;
  EXPECT_FALSE(has_rule(facts.evidence, "process_ended"));
}

TEST(DeathsTest, OnlyTheFirstOfSeveralKillsCounts) {
  Facts facts;
  facts.event_at(EventKind::exit_code, Facts::rank(3), "exitcode : -11", 50).code = -11;
  facts.event_at(EventKind::exit_code, Facts::rank(1), "exitcode : -9", 80).code = -9;
  EXPECT_EQ(found_by(facts.evidence, "process_ended").verdict.culprits, Labels{"3"});
}

TEST(DeathsTest, TheRootCauseOfTheLauncherCounts) {
  Facts facts;
  facts.event(EventKind::exit_code, Facts::rank(0), "exitcode : -9").code = -9;
  EventFact& root = facts.event(EventKind::exit_code, Facts::rank(4), "exitcode : -9");
  root.code = -9;
  root.detail = "first observed failure";
  facts.evidence.world_size = 8;
  EXPECT_EQ(found_by(facts.evidence, "process_ended").verdict.culprits, Labels{"4"});
}

TEST(DeathsTest, WhatFollowsTheLaunchersFirstFailureIsAConsequenceWithoutAnyClock) {
  Facts facts;
  facts.timeout(1, 7);
  facts.event(EventKind::exit_code, Facts::rank(3), "exitcode : -9").code = -9;
  EventFact& root = facts.event(EventKind::exit_code, Facts::rank(1), "exitcode : -6");
  root.code = -6;  // its own watchdog's abort
  root.detail = "root_cause";
  EXPECT_FALSE(has_rule(facts.evidence, "process_ended"));
  root.code = 1;  // an exception
  EXPECT_FALSE(has_rule(facts.evidence, "process_ended"));
  root.code = -9;
  EXPECT_EQ(found_by(facts.evidence, "process_ended").verdict.culprits, Labels{"1"});
}

TEST(DeathsTest, KillsBesideARanksCrashAreTheLaunchers) {
  Facts facts;
  facts.event(EventKind::exit_code, Facts::rank(1), "tasks 0-1: Killed").code = -9;
  facts.event(EventKind::exit_code, Facts::rank(6), "task 6: Segmentation fault").code = -11;
  facts.evidence.world_size = 8;
  EXPECT_EQ(found_by(facts.evidence, "process_ended").verdict.culprits, Labels{"6"});
}

TEST(DeathsTest, AKillBeforeACrashStays) {
  Facts facts;
  facts.event_at(EventKind::exit_code, Facts::rank(1), "exitcode : -9", 50).code = -9;
  facts.event_at(EventKind::exit_code, Facts::rank(6), "exitcode : -11", 80).code = -11;
  EXPECT_EQ(found_by(facts.evidence, "process_ended").verdict.culprits, Labels{"1"});
}

TEST(DeathsTest, AnOomKillIsJoinedByProcessNumber) {
  Facts facts;
  Who known = Facts::process("n1", 3188);
  known.rank = 6;
  facts.evidence.identities.push_back(known);
  facts.event(EventKind::oom_kill, Facts::process("", 3188), "Out of memory: Killed process 3188 (python)");
  const Candidate found = found_by(facts.evidence, "process_ended");
  EXPECT_EQ(found.verdict.culprits, Labels{"6"});
  EXPECT_NE(found.verdict.fix.find("memory limit"), std::string::npos);
}

TEST(DeathsTest, AJobThatWasEndedAsAWholeHasNoCulprit) {
  Facts facts;
  facts.evidence.world_size = 2;
  facts.event(EventKind::exit_code, Facts::rank(0), "-9").code = -9;
  facts.event(EventKind::exit_code, Facts::rank(1), "-9").code = -9;
  const Candidate found = found_by(facts.evidence, "process_ended");
  EXPECT_EQ(found.verdict.culprits, Labels{});
  EXPECT_EQ(found.verdict.grade, Grade::possible);
}

TEST(DeathsTest, PeersThatLostOneHostSuspectIt) {
  Facts facts;
  for (const int rank : {1, 2, 3}) {
    facts.event(EventKind::peer_closed, Facts::rank(rank), "Connection closed by remote peer n0").peer.host =
        "n0";
  }
  const Candidate found = found_by(facts.evidence, "lost_peer");
  EXPECT_EQ(found.verdict.kind, FaultKind::rank_died);
  EXPECT_EQ(found.verdict.grade, Grade::likely);
  EXPECT_EQ(found.verdict.culprits, Labels{});
  facts.event(EventKind::peer_closed, Facts::rank(4), "Connection closed by remote peer n9").peer.host = "n9";
  EXPECT_FALSE(has_rule(facts.evidence, "lost_peer"));
}

TEST(DeathsTest, TheOnlySilentRankIsTheOneThatPeersLost) {
  Facts facts;
  facts.evidence.world_size = 3;
  GroupFact& group = facts.evidence.groups.emplace_back();
  group.key = group.name = "0";
  group.ranks = {0, 1, 2};
  group.who = Facts::rank(1);
  group.source = facts.next();
  for (const int rank : {1, 2}) {
    facts.event(EventKind::peer_closed, Facts::rank(rank), "Connection closed by remote peer n0").peer.host =
        "n0";
  }
  const Candidate found = found_by(facts.evidence, "lost_peer");
  EXPECT_EQ(found.verdict.culprits, Labels{"0"});
  EXPECT_EQ(found.verdict.victims, (Labels{"1", "2"}));
  EXPECT_EQ(found.weight, Weight::strong);
}

TEST(DeathsTest, ConnectionsThatCloseAfterATimeoutTellNothing) {
  Facts facts;
  facts.timeout(0, 3);
  facts.event(EventKind::peer_closed, Facts::rank(1), "Connection closed by remote peer n0").peer.host = "n0";
  EXPECT_FALSE(has_rule(facts.evidence, "lost_peer"));
}

}  // namespace
}  // namespace ringcomm::diag
