// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/explain_events/facts.hpp"

namespace ringcomm::diag {
namespace {

void add_pair(Facts& facts, const char* text) { facts.event(EventKind::test_result, Who{}, text); }

TEST(PeerAccessTest, PairsWithDirectAccessHangAndOthersWork) {
  Facts facts;
  add_pair(facts, "# all_reduce_perf -b 8 -e 128M -f 2 -g 2, pair by pair");
  add_pair(facts, "GPU0+GPU1 (PXB): hangs after the table header");
  add_pair(facts, "GPU2+GPU3 (PIX): hangs after the table header");
  add_pair(facts, "GPU0+GPU2 (SYS): ok, busbw 8.1 GB/s");
  add_pair(facts, "NCCL_P2P_DISABLE=1 GPU0+GPU1: ok, busbw 4.9 GB/s");
  const Candidate found = found_by(facts.evidence, "pair_test");
  EXPECT_EQ(found.verdict.kind, FaultKind::p2p_path_broken);
  EXPECT_EQ(found.verdict.grade, Grade::likely);
  EXPECT_EQ(found.verdict.culprits, Labels{});
  EXPECT_EQ(found.verdict.suspects, Labels{"PCIe P2P between GPU0-GPU1 and GPU2-GPU3"});
  EXPECT_EQ(found.verdict.op, "all_reduce_perf");
}

TEST(PeerAccessTest, APairThatHangsThroughHostMemoryTooHasAnotherCause) {
  Facts facts;
  add_pair(facts, "GPU0+GPU1 (PIX): hangs");
  add_pair(facts, "GPU0+GPU2 (SYS): hangs");
  add_pair(facts, "GPU1+GPU3 (SYS): ok");
  EXPECT_FALSE(has_rule(facts.evidence, "pair_test"));
}

TEST(PeerAccessTest, HangsAloneProveNothing) {
  Facts facts;
  add_pair(facts, "GPU0+GPU1 (PIX): hangs");
  EXPECT_FALSE(has_rule(facts.evidence, "pair_test"));
}

void add_first_collective(Facts& facts, std::int64_t seq) {
  for (const int rank : {0, 1}) facts.timeout(rank, seq);
  for (const int rank : {0, 1}) {
    CounterFact& counter = facts.evidence.counters.emplace_back();
    counter.who = Facts::rank(rank);
    counter.enqueued = seq;
    counter.completed = seq == 1 ? -1 : seq - 1;
    counter.source = facts.next();
  }
}

TEST(PeerAccessTest, AFirstCollectiveThatNeverEndsOverDirectAccess) {
  Facts facts;
  add_first_collective(facts, 1);
  EXPECT_FALSE(has_rule(facts.evidence, "first_collective_over_p2p"));
  facts.event(EventKind::transport_used, Facts::rank(0), "Channel 00 : 0[1000] -> 1[2000] via P2P/IPC")
      .detail = "P2P/IPC";
  const Candidate found = found_by(facts.evidence, "first_collective_over_p2p");
  EXPECT_EQ(found.verdict.kind, FaultKind::p2p_path_broken);
  EXPECT_EQ(found.verdict.grade, Grade::possible);
  EXPECT_EQ(found.verdict.culprits, Labels{});
}

TEST(PeerAccessTest, ALaterCollectiveSpeaksAgainstTheSetUp) {
  Facts facts;
  add_first_collective(facts, 40);
  facts.event(EventKind::transport_used, Facts::rank(0), "via P2P/IPC").detail = "P2P/IPC";
  EXPECT_FALSE(has_rule(facts.evidence, "first_collective_over_p2p"));
}

}  // namespace
}  // namespace ringcomm::diag
