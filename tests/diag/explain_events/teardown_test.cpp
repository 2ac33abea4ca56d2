// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

void add_heartbeat(Facts& facts, int rank, const char* group) {
  facts.event_at(EventKind::heartbeat_stuck, Facts::rank(rank), "watchdog got stuck for 480 seconds", 900)
      .group = group;
}

TEST(TeardownTest, HeartbeatsAfterTheWorkAreATeardown) {
  Facts facts;
  facts.event_at(EventKind::finished, Who{}, "training finished", 400);
  add_heartbeat(facts, 4, "EXPERT_MODEL_GROUP");
  add_heartbeat(facts, 0, "EXPERT_TENSOR_GROUP");
  const Candidate found = found_by(facts.evidence, "after_the_work");
  EXPECT_EQ(found.verdict.kind, FaultKind::teardown_hang);
  EXPECT_EQ(found.verdict.grade, Grade::likely);
  EXPECT_EQ(found.verdict.culprits, Labels{});
  EXPECT_EQ(found.verdict.victims, (Labels{"0", "4"}));
  EXPECT_EQ(found.verdict.group, "several EXPERT groups");
  EXPECT_EQ(found.verdict.op, "communicator destroy");
}

TEST(TeardownTest, ATimeoutMeansThatTheWorkWasNotDone) {
  Facts facts;
  facts.event_at(EventKind::finished, Who{}, "epoch finished", 400);
  add_heartbeat(facts, 4, "a");
  facts.timeout(1, 5);
  EXPECT_FALSE(has_rule(facts.evidence, "after_the_work"));
  EXPECT_FALSE(has_rule(facts.evidence, "heartbeat_only"));
}

TEST(TeardownTest, WorkThatEndsLaterIsNoReason) {
  Facts facts;
  facts.event_at(EventKind::finished, Who{}, "training finished", 1400);
  add_heartbeat(facts, 4, "a");
  EXPECT_FALSE(has_rule(facts.evidence, "after_the_work"));
  const Candidate found = found_by(facts.evidence, "heartbeat_only");
  EXPECT_EQ(found.verdict.grade, Grade::possible);
  EXPECT_EQ(found.weight, Weight::weak);
}

}  // namespace
}  // namespace ringcomm::diag
