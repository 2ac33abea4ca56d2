// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

TEST(StartUpTest, AllRanksOfOneGpuAreNamed) {
  Facts facts;
  for (const int rank : {1, 2, 3}) {
    facts.event(
        EventKind::duplicate_gpu, Facts::process("n1", 100 + rank, 0),
        "Duplicate GPU detected : rank " + std::to_string(rank) + " and rank 0 both on CUDA device 1000");
  }
  const Candidate found = found_by(facts.evidence, "duplicate_gpu");
  EXPECT_EQ(found.verdict.kind, FaultKind::rank_gpu_binding);
  EXPECT_EQ(found.verdict.grade, Grade::certain);
  EXPECT_EQ(found.verdict.culprits, (Labels{"0", "1", "2", "3"}));
  EXPECT_EQ(found.verdict.op, "ncclCommInitRank");
}

TEST(StartUpTest, TwoVersionsAreToldApartInWords) {
  Facts facts;
  GroupFact& group = facts.evidence.groups.emplace_back();
  group.key = "0x55a";
  group.unique_id = "0x77";
  group.source = {0, 1};
  facts.event(EventKind::version_mismatch, Facts::process("n1", 210, 0),
              "Mismatched NCCL version detected : rank 1 version 22105 rank 0 version 22602");
  const Candidate found = found_by(facts.evidence, "versions_differ");
  EXPECT_EQ(found.verdict.kind, FaultKind::version_mismatch);
  EXPECT_EQ(found.verdict.culprits, Labels{});
  EXPECT_EQ(found.verdict.suspects, (Labels{"0", "1"}));
  EXPECT_EQ(found.verdict.group, "commId 0x77");
  EXPECT_EQ(found.verdict.title, "Rank 1 loads NCCL 2.21.5, rank 0 loads 2.26.2");
}

TEST(StartUpTest, TheSameVersionEverywhereIsNoMismatch) {
  Facts facts;
  for (const int rank : {0, 1}) {
    facts.event(EventKind::version, Facts::rank(rank), "NCCL version 2.26.2").detail = "2.26.2";
  }
  EXPECT_FALSE(has_rule(facts.evidence, "versions_differ"));
  facts.event(EventKind::version, Facts::rank(2), "NCCL version 2.21.5").detail = "2.21.5";
  const Candidate found = found_by(facts.evidence, "versions_differ");
  EXPECT_EQ(found.verdict.suspects, Labels{"2"});
  EXPECT_EQ(found.verdict.grade, Grade::likely);
}

TEST(StartUpTest, ABuildsSuffixAndALineOfNobodyAreNoOtherVersion) {
  Facts facts;
  facts.event(EventKind::version, Facts::rank(0), "NCCL version 2.26.2+cuda12.4").detail = "2.26.2+cuda12.4";
  facts.event(EventKind::version, Facts::rank(1), "dump").detail = "2.26.2";
  facts.event(EventKind::version, Who{}, "NCCL version 2.25.1").detail = "2.25.1";
  EXPECT_FALSE(has_rule(facts.evidence, "versions_differ"));
}

}  // namespace
}  // namespace ringcomm::diag
