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
using explain_test::OpClass;
using explain_test::Tri;

/// Calls 0x10 ... `last` of one rank, as a log prints them: no completions.
void call(Job& job, int rank, std::int64_t last) {
  for (std::int64_t seq = 0x10; seq <= last; ++seq) {
    diag::OpFact& op = job.open(rank, "tp", seq);
    op.is_hex_seq = true;
    op.completed = Tri::unknown;
  }
}

Job logged(const std::vector<std::int64_t>& last) {
  Job job(static_cast<int>(last.size()), "nccl_coll_log");
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < last.size(); ++rank) ranks.push_back(static_cast<int>(rank));
  job.group("tp", ranks);
  for (const int rank : ranks) call(job, rank, last[static_cast<std::size_t>(rank)]);
  return job;
}

TEST(CallsTest, TheRankWhoseCallsEndFirstIsWaitedFor) {
  const Verdict verdict = explain(logged({0x1c, 0x1a, 0x1d, 0x1b}).evidence);
  EXPECT_EQ(verdict.kind, FaultKind::rank_not_entered);
  EXPECT_EQ(verdict.grade, Grade::possible);
  EXPECT_EQ(verdict.culprits, Labels{"1"});
  EXPECT_EQ(verdict.victims, (Labels{"0", "2", "3"}));
  EXPECT_EQ(verdict.seq, "0x1b");
}

TEST(CallsTest, EqualCallsTellNothing) {
  EXPECT_NE(explain(logged({0x1c, 0x1c, 0x1c}).evidence).kind, FaultKind::rank_not_entered);
}

TEST(CallsTest, MostOfAGroupIsSuspectedOnly) {
  const Verdict verdict = explain(logged({0x1c, 0x1a, 0x1a}).evidence);
  EXPECT_EQ(verdict.culprits, Labels{});
  EXPECT_EQ(verdict.suspects, (Labels{"1", "2"}));
}

TEST(CallsTest, WithoutTheLogOfAMemberNobodyIsNamed) {
  Job job = logged({0x1c, 0x1a, 0x1c});
  std::erase_if(job.evidence.ops, [](const diag::OpFact& op) { return op.who.rank == 2; });
  EXPECT_EQ(explain(job.evidence).culprits, Labels{});
}

}  // namespace
}  // namespace ringcomm
