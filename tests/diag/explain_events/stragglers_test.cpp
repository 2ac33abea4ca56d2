// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

TEST(StragglersTest, ABarWithoutARankIsOfTheOneThatDoesNotWait) {
  Facts facts;
  facts.event(EventKind::progress, Who{}, "Running tokenizer: 71%| 71200/100000 [29:58<12:07]").detail =
      "Running tokenizer";
  for (const int rank : {1, 2, 3}) facts.timeout(rank, 2);
  const Candidate found = found_by(facts.evidence, "application_line");
  EXPECT_EQ(found.verdict.kind, FaultKind::rank_not_entered);
  EXPECT_EQ(found.verdict.grade, Grade::likely);
  EXPECT_EQ(found.verdict.culprits, Labels{"0"});
  EXPECT_EQ(found.verdict.victims, (Labels{"1", "2", "3"}));
}

TEST(StragglersTest, ABarOfTheLoopThatAllAreInIsNotOfTheSilentRank) {
  for (const char* const detail : {"progress bar", "Training", "Epoch 3", "step"}) {
    Facts facts;
    facts.event(EventKind::progress, Who{}, "12%|#         | 41/300 [10:20<1:05:00]").detail = detail;
    for (const int rank : {0, 1, 2}) facts.timeout(rank, 41);
    facts.evidence.world_size = 4;
    EXPECT_FALSE(has_rule(facts.evidence, "application_line")) << detail;
    facts.evidence.events.front().detail = "Building index";
    EXPECT_EQ(found_by(facts.evidence, "application_line").verdict.culprits, Labels{"3"});
  }
}

TEST(StragglersTest, ALineOfARankThatWaitsTellsNothing) {
  Facts facts;
  facts.event(EventKind::progress, Facts::rank(1), "step 7");
  for (const int rank : {1, 2, 3}) facts.timeout(rank, 2);
  EXPECT_FALSE(has_rule(facts.evidence, "application_line"));
}

TEST(StragglersTest, SilenceOfManyIsNoSign) {
  Facts facts;
  facts.evidence.world_size = 64;
  facts.event(EventKind::progress, Facts::rank(0), "step 7");
  for (const int rank : {1, 2, 3}) facts.timeout(rank, 2);
  EXPECT_FALSE(has_rule(facts.evidence, "application_line"));
}

TEST(StragglersTest, WithoutASilentRankThereIsNoStraggler) {
  Facts facts;
  facts.event(EventKind::progress, Who{}, "step 7");
  for (const int rank : {0, 1, 2}) facts.timeout(rank, 2);
  EXPECT_FALSE(has_rule(facts.evidence, "application_line"));
}

}  // namespace
}  // namespace ringcomm::diag
