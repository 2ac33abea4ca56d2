// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/evidence/record/record_words.hpp"
#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

TEST(RecordFailuresTest, ARankThatLeftItsRotationTookTooFewSteps) {
  Facts facts;
  facts.evidence.world_size = 3;
  facts.event(EventKind::aborted, Facts::rank(0), "rank 0 destroyed its ring rotation").detail =
      kLeftRotation;
  facts.event(EventKind::aborted, Facts::rank(1), "rank 0 destroyed its ring rotation").detail = "aborted";
  facts.event(EventKind::aborted, Facts::rank(2), "rank 0 destroyed its ring rotation").detail = "aborted";
  const Candidate found = found_by(facts.evidence, "left_rotation");
  EXPECT_EQ(found.verdict.kind, FaultKind::ring_step_mismatch);
  EXPECT_EQ(found.verdict.grade, Grade::certain);
  EXPECT_EQ(found.verdict.culprits, Labels{"0"});
  EXPECT_EQ(found.weight, Weight::root);
}

TEST(RecordFailuresTest, APeerThatLeftIsTheCulpritAndNotWhoSaysSo) {
  Facts facts;
  for (const int rank : {0, 1}) {
    EventFact& event = facts.event(EventKind::peer_closed, Facts::rank(rank), "rank 2 has left");
    event.detail = kLeftGroup;
    event.peer = Facts::rank(2);
  }
  const Candidate found = found_by(facts.evidence, "left_group");
  EXPECT_EQ(found.verdict.kind, FaultKind::teardown_hang);
  EXPECT_EQ(found.verdict.culprits, Labels{"2"});
  EXPECT_FALSE(has_rule(facts.evidence, "peer_died"));
}

TEST(RecordFailuresTest, APeerThatDiedIsNamedWithoutARecordOfItsOwn) {
  Facts facts;
  EventFact& event = facts.event(EventKind::peer_closed, Facts::rank(1), "rank 0 (pid 7) died");
  event.detail = kPeerDied;
  event.peer = Facts::rank(0);
  const Candidate found = found_by(facts.evidence, "peer_died");
  EXPECT_EQ(found.verdict.kind, FaultKind::rank_died);
  EXPECT_EQ(found.verdict.culprits, Labels{"0"});
  EXPECT_FALSE(has_rule(facts.evidence, "left_group"));
}

TEST(RecordFailuresTest, MemoryTakenBackUnderAReaderIsSlotReuse) {
  Facts facts;
  EventFact& event = facts.event(EventKind::peer_closed, Facts::rank(2), "rank 1 took back the memory");
  event.detail = kTookBack;
  event.peer = Facts::rank(1);
  const Candidate found = found_by(facts.evidence, "took_back");
  EXPECT_EQ(found.verdict.kind, FaultKind::slot_reuse);
  EXPECT_EQ(found.verdict.culprits, Labels{"1"});
  EXPECT_EQ(found.weight, Weight::root);
  EXPECT_FALSE(has_rule(facts.evidence, "peer_died"));
}

TEST(RecordFailuresTest, OtherWordsOfFailuresNameNobody) {
  Facts facts;
  facts.event(EventKind::aborted, Facts::rank(0), "on purpose").detail = "aborted";
  facts.event(EventKind::peer_closed, Facts::rank(1), "closed").detail = "peer_lost";
  for (const char* rule : {"left_rotation", "left_group", "peer_died", "took_back"})
    EXPECT_FALSE(has_rule(facts.evidence, rule)) << rule;
}

}  // namespace
}  // namespace ringcomm::diag
