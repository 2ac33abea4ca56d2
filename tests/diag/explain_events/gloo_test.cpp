// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

Who named(const char* name) {
  Who who;
  who.name = name;
  return who;
}

TEST(GlooTest, ATimeoutOfGlooNamesNobody) {
  Facts facts;
  facts.event(EventKind::exception, named("w2|6"),
              "RuntimeError: [gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 1800000ms for recv "
              "operation to complete");
  EventFact& closed =
      facts.event(EventKind::peer_closed, named("w3|1"),
                  "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [::1]:3");
  closed.peer.address = "::1";
  const Candidate found = found_by(facts.evidence, "gloo_timeout");
  EXPECT_EQ(found.verdict.kind, FaultKind::insufficient_evidence);
  EXPECT_EQ(found.verdict.grade, Grade::cannot_tell);
  EXPECT_EQ(found.verdict.culprits, Labels{});
  EXPECT_EQ(found.verdict.victims, (Labels{"w2|6", "w3|1"}));
  EXPECT_EQ(found.verdict.op, "recv inside a gloo collective");
  EXPECT_FALSE(has_rule(facts.evidence, "lost_peer"));
  EXPECT_FALSE(has_rule(facts.evidence, "own_exception"));
}

TEST(GlooTest, AMonitoredBarrierNamesWhoIsMissing) {
  Facts facts;
  EventFact& barrier =
      facts.event(EventKind::timeout, Facts::rank(0), "Rank 4 failed to pass monitoredBarrier in 60000 ms");
  barrier.detail = "monitored_barrier";
  barrier.peer = Facts::rank(4);
  facts.event(EventKind::timeout, Facts::rank(0), "gloo: Timed out waiting 60000ms for recv").detail = "gloo";
  const Candidate found = found_by(facts.evidence, "monitored_barrier");
  EXPECT_EQ(found.verdict.kind, FaultKind::rank_not_entered);
  EXPECT_EQ(found.verdict.grade, Grade::possible);
  EXPECT_EQ(found.verdict.culprits, Labels{"4"});
  EXPECT_EQ(found.verdict.victims, Labels{"0"});
  EXPECT_FALSE(has_rule(facts.evidence, "gloo_timeout"));
  // It waits itself: the barrier may blame the wrong side.
  facts.timeout(4, 9);
  const Candidate other = found_by(facts.evidence, "monitored_barrier");
  EXPECT_EQ(other.verdict.culprits, Labels{});
  EXPECT_EQ(other.verdict.suspects, Labels{"4"});
}

TEST(GlooTest, AnotherTimeoutIsNotGloos) {
  Facts facts;
  facts.timeout(0, 3);
  EXPECT_FALSE(has_rule(facts.evidence, "gloo_timeout"));
}

}  // namespace
}  // namespace ringcomm::diag
