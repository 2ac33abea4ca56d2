// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

TEST(PausesTest, WatchdogsOfAllRanksThatStoodStillShowAPausedHost) {
  Facts facts;
  facts.timeout(0, 9, 9000);
  facts.timeout(1, 9, 9001);
  const Candidate found = found_by(facts.evidence, "late_watchdog");
  EXPECT_EQ(found.verdict.kind, FaultKind::host_paused);
  EXPECT_EQ(found.verdict.grade, Grade::likely);
  EXPECT_EQ(found.verdict.culprits, Labels{});
}

TEST(PausesTest, OneLateWatchdogOfSeveralIsItsOwnRanksTrouble) {
  Facts facts;
  facts.timeout(0, 9);
  facts.timeout(1, 9);
  facts.timeout(2, 9, 4000);
  const Candidate found = found_by(facts.evidence, "late_watchdog");
  EXPECT_EQ(found.verdict.kind, FaultKind::rank_unresponsive);
  EXPECT_EQ(found.verdict.culprits, Labels{"2"});
}

TEST(PausesTest, AWatchdogThatIsSomeSecondsLateIsOrdinary) {
  Facts facts;
  facts.timeout(0, 9, 640);
  facts.timeout(1, 9, 601);
  EXPECT_FALSE(has_rule(facts.evidence, "late_watchdog"));
}

}  // namespace
}  // namespace ringcomm::diag
