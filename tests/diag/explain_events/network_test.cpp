// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

EventFact& add_completion(Facts& facts, const char* host, int status) {
  EventFact& event =
      facts.event(EventKind::ib_completion, Facts::process(host, 984, 4), "Got completion from peer");
  event.code = status;
  event.who.address = "::ffff:192.0.2.182";
  event.peer.address = "10.0.3.59";
  event.peer.name = "::ffff:192.0.2.221";
  return event;
}

TEST(NetworkTest, TheFirstErrorThatIsNoFlushCounts) {
  Facts facts;
  add_completion(facts, "nb", 5);
  add_completion(facts, "nb", 12);
  add_completion(facts, "nb", 5);
  const Candidate found = found_by(facts.evidence, "first_completion_error");
  EXPECT_EQ(found.verdict.kind, FaultKind::network_fault);
  EXPECT_EQ(found.verdict.culprits, Labels{});
  EXPECT_EQ(found.verdict.suspects, Labels{"link between nb (::ffff:192.0.2.182, GPU 4) and peer 10.0.3.59 "
                                           "(::ffff:192.0.2.221)"});
  EXPECT_EQ(found.verdict.evidence.front().where.line, 2);
  EXPECT_EQ(found.verdict.op, "");
  EXPECT_NE(found.verdict.title.find("status 12"), std::string::npos);
}

TEST(NetworkTest, FlushesAloneTellNothing) {
  Facts facts;
  add_completion(facts, "nb", 5);
  const Candidate found = found_by(facts.evidence, "only_flushes");
  EXPECT_EQ(found.verdict.kind, FaultKind::insufficient_evidence);
  EXPECT_EQ(found.verdict.grade, Grade::cannot_tell);
  EXPECT_FALSE(has_rule(facts.evidence, "first_completion_error"));
}

TEST(NetworkTest, LocalProtectionOnManySendersIsRegistration) {
  Facts facts;
  add_completion(facts, "nb", 4);
  add_completion(facts, "na", 4);
  const Candidate found = found_by(facts.evidence, "local_protection");
  EXPECT_EQ(found.verdict.kind, FaultKind::net_config);
  EXPECT_EQ(found.verdict.grade, Grade::likely);
  EXPECT_EQ(found.verdict.culprits, Labels{});
  EXPECT_EQ(found.verdict.suspects, (Labels{"na: memory registration", "nb: memory registration"}));
}

TEST(NetworkTest, APortEventBeforeTheErrorsNamesTheLocalPort) {
  Facts facts;
  facts.event_at(EventKind::port_error, Facts::process("nc", 9, 1), "Got async event : port error", 10);
  add_completion(facts, "nb", 12).time_ns = 20'000'000'000;
  EXPECT_EQ(found_by(facts.evidence, "port_event").verdict.suspects, Labels{"port of nc (GPU 1)"});
  facts.evidence.events.front().time_ns = 30'000'000'000;
  EXPECT_FALSE(has_rule(facts.evidence, "port_event"));
  EXPECT_TRUE(has_rule(facts.evidence, "first_completion_error"));
}

TEST(NetworkTest, AnotherAsyncEventIsNoPortError) {
  Facts facts;
  facts.event(EventKind::ib_async, Facts::process("nc", 9, 1), "Got async event : GID table change");
  EXPECT_FALSE(has_rule(facts.evidence, "port_event"));
}

}  // namespace
}  // namespace ringcomm::diag
