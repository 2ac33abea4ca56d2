// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_groups/job_facts.hpp"

namespace ringcomm {
namespace {

using diag::FaultKind;
using diag::Grade;
using diag::Verdict;
using explain_test::Job;
using explain_test::Labels;

/// RAS's view of four ranks, asked once for each list of counts.
Job asked(const std::vector<std::vector<std::int64_t>>& snapshots) {
  Job job(0);
  diag::GroupFact group;
  group.key = group.name = "#0-0";
  group.unique_id = "27a0";
  group.size = 4;
  job.evidence.groups.push_back(group);
  for (std::size_t s = 0; s < snapshots.size(); ++s) {
    job.evidence.files.push_back({.path = "ras" + std::to_string(s), .formats = {"ras_text"}});
    for (std::size_t rank = 0; rank < 4; ++rank) {
      diag::CounterFact fact;
      fact.who.rank = static_cast<int>(rank);
      fact.group = "#0-0";
      fact.launches["AllGather"] = snapshots[s][rank];
      fact.snapshot = static_cast<int>(s);
      fact.source.file = static_cast<int>(s);
      job.evidence.counters.push_back(std::move(fact));
    }
  }
  return job;
}

TEST(CountsTest, CountsThatMoveAreAJobThatRuns) {
  const Verdict verdict = explain(asked({{50, 49, 50, 50}, {70, 70, 70, 69}}).evidence);
  EXPECT_EQ(verdict.kind, FaultKind::none);
  EXPECT_EQ(verdict.grade, Grade::certain);
  EXPECT_EQ(verdict.culprits, Labels{});
  EXPECT_EQ(verdict.op, "AllGather");
  EXPECT_EQ(verdict.group, "#0-0 (27a0)");
}

TEST(CountsTest, CountsThatStandStillNameTheLowest) {
  const Verdict verdict = explain(asked({{50, 50, 49, 50}, {50, 50, 49, 50}}).evidence);
  EXPECT_EQ(verdict.kind, FaultKind::rank_not_entered);
  EXPECT_EQ(verdict.culprits, Labels{"2"});
  EXPECT_EQ(verdict.victims, (Labels{"0", "1", "3"}));
}

TEST(CountsTest, OneSnapshotDoesNotTellAHang) {
  const Verdict verdict = explain(asked({{50, 50, 49, 50}}).evidence);
  EXPECT_EQ(verdict.kind, FaultKind::insufficient_evidence);
  EXPECT_EQ(verdict.culprits, Labels{});
  EXPECT_EQ(verdict.suspects, Labels{"2"});
}

TEST(CountsTest, DumpsWithNothingOpenAreNoHang) {
  Job job(2);
  job.group("0", {0, 1}, "default_pg").counts(0, "0", 9, 9).counts(1, "0", 9, 9);
  EXPECT_EQ(explain(job.evidence).kind, FaultKind::none);
  job.counts(1, "0", 10, 10);
  EXPECT_NE(explain(job.evidence).kind, FaultKind::none);
}

}  // namespace
}  // namespace ringcomm
