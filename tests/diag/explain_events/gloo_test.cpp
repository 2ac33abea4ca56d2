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

TEST(GlooTest, AnotherTimeoutIsNotGloos) {
  Facts facts;
  facts.timeout(0, 3);
  EXPECT_FALSE(has_rule(facts.evidence, "gloo_timeout"));
}

}  // namespace
}  // namespace ringcomm::diag
