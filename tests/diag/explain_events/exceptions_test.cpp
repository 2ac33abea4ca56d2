// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

TEST(ExceptionsTest, ARankThatRaisedByItselfIsTheCulprit) {
  Facts facts;
  facts.event(EventKind::exception, Facts::rank(3), "KeyError: 'labels'").detail = "KeyError";
  facts.timeout(0, 9);
  facts.timeout(1, 9);
  const Candidate found = found_by(facts.evidence, "own_exception");
  EXPECT_EQ(found.verdict.kind, FaultKind::rank_exception);
  EXPECT_EQ(found.verdict.culprits, Labels{"3"});
  EXPECT_EQ(found.verdict.victims, (Labels{"0", "1"}));
  EXPECT_EQ(found.verdict.grade, Grade::certain);
  EXPECT_EQ(found.verdict.seq, "9");
}

TEST(ExceptionsTest, WhatARankRaisesAboutItsPeersIsNoCause) {
  Facts facts;
  facts.event(EventKind::exception, Facts::rank(3), "torch.distributed.DistBackendError: NCCL error").detail =
      "DistBackendError";
  facts.event(EventKind::exception, Facts::rank(2), "RuntimeError: Connection reset by peer").detail =
      "RuntimeError";
  EXPECT_FALSE(has_rule(facts.evidence, "own_exception"));
}

TEST(ExceptionsTest, AnExceptionBehindTheRanksOwnTimeoutIsAConsequence) {
  Facts facts;
  facts.timeout(3, 9);
  facts.event(EventKind::exception, Facts::rank(3), "ValueError: half a batch").detail = "ValueError";
  EXPECT_FALSE(has_rule(facts.evidence, "own_exception"));
}

TEST(ExceptionsTest, AnExceptionLaterThanAnyTimeoutIsAConsequence) {
  Facts facts;
  facts.event_at(EventKind::timeout, Facts::rank(0), "timeout", 100);
  facts.event_at(EventKind::exception, Facts::rank(3), "ValueError: half a batch", 160).detail = "ValueError";
  EXPECT_FALSE(has_rule(facts.evidence, "own_exception"));
}

TEST(ExceptionsTest, TheEarliestOfSeveralCounts) {
  Facts facts;
  facts.event_at(EventKind::exception, Facts::rank(5), "IndexError: 4", 200).detail = "IndexError";
  facts.event_at(EventKind::exception, Facts::rank(2), "ValueError: NaN", 100).detail = "ValueError";
  EXPECT_EQ(found_by(facts.evidence, "own_exception").verdict.culprits, Labels{"2"});
}

TEST(ExceptionsTest, AnExitCodeAloneIsPossibleOnly) {
  Facts facts;
  facts.event(EventKind::exit_code, Facts::rank(1), "exitcode : 1").code = 1;
  const Candidate found = found_by(facts.evidence, "exit_by_error");
  EXPECT_EQ(found.verdict.grade, Grade::possible);
  EXPECT_EQ(found.verdict.culprits, Labels{"1"});
  facts.timeout(0, 2);
  EXPECT_FALSE(has_rule(facts.evidence, "exit_by_error"));
}

}  // namespace
}  // namespace ringcomm::diag
