// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/evidence_text/read_text_of.hpp"

namespace ringcomm::diag {
namespace {

TEST(WatchdogTest, TheOldestFormHasNoNumberAndNoGroup) {
  const auto evidence = evidence_of(
      "[E ProcessGroupNCCL.cpp:566] [Rank 4] Watchdog caught collective operation timeout: "
      "WorkNCCL(OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1804382 milliseconds before timing out.\n");
  ASSERT_EQ(evidence.ops.size(), 1U);
  const OpFact& op = evidence.ops[0];
  EXPECT_EQ(op.op, OpClass::all_reduce);
  EXPECT_FALSE(op.seq);
  EXPECT_EQ(op.who.rank, 4);
  EXPECT_EQ(op.ran_for_ms, 1804382);
  EXPECT_EQ(op.timeout_ms, 1800000);
  EXPECT_TRUE(op.is_timed_out);
  EXPECT_TRUE(has_format(evidence, "watchdog_log"));
}

TEST(WatchdogTest, TwoLinesOfOneRankAreAboutOneGroup) {
  const auto evidence = evidence_of(
      "[rank9]:[E0816 01:45:40.5 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective operation "
      "timeout: "
      "WorkNCCL(SeqNum=61, OpType=_ALLGATHER_BASE, NumelIn=12, NumelOut=48, Timeout(ms)=1000) ran for 1500 "
      "milliseconds before timing out.\n"
      "[rank9]:[E0816 01:45:40.6 ProcessGroupNCCL.cpp:1785] [PG ID 2 PG GUID 14(TENSOR_PARALLEL) Rank 1] "
      "Exception "
      "(either an error or timeout) detected by watchdog at work: 61, last enqueued NCCL work: 64, last "
      "completed NCCL "
      "work: 60.\n");
  ASSERT_EQ(evidence.ops.size(), 1U);
  ASSERT_EQ(evidence.counters.size(), 1U);
  ASSERT_EQ(evidence.groups.size(), 1U);
  EXPECT_EQ(evidence.groups[0].name, "14");
  EXPECT_EQ(evidence.groups[0].description, "TENSOR_PARALLEL");
  EXPECT_EQ(evidence.groups[0].key, "PG ID 2 PG GUID 14");
  EXPECT_EQ(evidence.ops[0].group, evidence.groups[0].key);
  EXPECT_EQ(evidence.ops[0].elements_in, 12);
  EXPECT_EQ(evidence.ops[0].elements_out, 48);
  EXPECT_EQ(evidence.ops[0].who.rank, 9);
  EXPECT_EQ(evidence.ops[0].who.group_rank, 1);
  EXPECT_EQ(evidence.counters[0].enqueued, 64);
  EXPECT_EQ(evidence.counters[0].completed, 60);
  // The call was made 1.5 s before the line.
  ASSERT_EQ(events_of(evidence, EventKind::timeout).size(), 2U);
  EXPECT_EQ(*events_of(evidence, EventKind::timeout)[0].time_ns - *evidence.ops[0].created_ns, 1'500'000'000);
}

TEST(WatchdogTest, StatusLinesOfAllEras) {
  for (const char* const line :
       {"[rank3]:[E ProcessGroupNCCL.cpp:1537] [PG 0 Rank 3] Timeout at NCCL work: 8, last enqueued NCCL "
        "work: 9, last "
        "completed NCCL work: 7.\n",
        "[rank3]:[E816 01:45:40.183 ProcessGroupNCCL.cpp:1664] [PG 0 (default_pg) Rank 3] Exception (either "
        "an error or "
        "timeout) detected by watchdog at work: 8, last enqueued NCCL work: 9, last completed NCCL work: "
        "7.\n",
        "[rank3]:[E0626 16:48:25.4 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank 3]  "
        "failure detected by "
        "watchdog at work sequence id: 8 PG status: last enqueued work: 9, last completed work: 7\n"}) {
    const auto evidence = evidence_of(line);
    ASSERT_EQ(evidence.counters.size(), 1U) << line;
    EXPECT_EQ(evidence.counters[0].enqueued, 9) << line;
    EXPECT_EQ(evidence.counters[0].completed, 7) << line;
    EXPECT_EQ(evidence.counters[0].who.rank, 3) << line;
    ASSERT_EQ(evidence.groups.size(), 1U) << line;
    EXPECT_EQ(evidence.groups[0].name, "0") << line;
  }
}

TEST(WatchdogTest, ARankOfAnotherGroupIsNotTheJobs) {
  const auto evidence = evidence_of(
      "[PG ID 3 PG GUID 21(CP) Rank 2] failure detected by watchdog at work sequence id: 8 PG status: last "
      "enqueued "
      "work: 9, last completed work: 7\n");
  ASSERT_EQ(evidence.counters.size(), 1U);
  EXPECT_EQ(evidence.counters[0].who.rank, kUnknown);
  EXPECT_EQ(evidence.counters[0].who.group_rank, 2);
}

TEST(WatchdogTest, WrappedAndTornLinesAreRead) {
  const auto wrapped = evidence_of(
      "[rank2]:[E0312 01:45:40.1 ProcessGroupNCCL.cpp:607] [Rank 2] Watchdog caught collective op\n"
      "eration timeout: WorkNCCL(SeqNum=77, OpType=BROADCAST, NumelIn=5, NumelOut=5, Timeout(ms)=6\n"
      "00000) ran for 600026 milliseconds before timing out.\n");
  ASSERT_EQ(wrapped.ops.size(), 1U);
  EXPECT_EQ(wrapped.ops[0].seq, 77);
  EXPECT_EQ(wrapped.ops[0].timeout_ms, 600000);
  const auto torn = evidence_of(
      "last enE114 16:14:58.9 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank 1] Exception "
      "(either an "
      "error or timeout) detected by watchdog at work: 3, last enq[7/99]\n"
      "       last completed NCCL work: -1.                                  [6/99]\n");
  ASSERT_EQ(torn.counters.size(), 1U);
  EXPECT_EQ(torn.counters[0].completed, -1);
  EXPECT_EQ(torn.counters[0].enqueued, 3);  // the stuck one was enqueued
  EXPECT_EQ(torn.counters[0].who.rank, 1);
}

TEST(WatchdogTest, AnAsyncErrorNamesWhoClosed) {
  const auto evidence = evidence_of(
      "[rank1]:[E0415 21:17:08.9 ProcessGroupNCCL.cpp:552] [Rank 1] Collective WorkNCCL(SeqNum=335, "
      "OpType=ALLREDUCE, "
      "NumelIn=1, NumelOut=1, Timeout(ms)=600000) raised the following async exception: NCCL error: remote "
      "process "
      "exited or there was a network error, NCCL version 2.21.5\n"
      "ncclRemoteError: A call failed possibly due to a network error or a remote process exiting "
      "prematurely.\n"
      "Last error:\n"
      "socketProgress: Connection closed by remote peer n4.example<32926>\n");
  ASSERT_EQ(evidence.ops.size(), 1U);
  EXPECT_FALSE(evidence.ops[0].is_timed_out);
  EXPECT_EQ(events_of(evidence, EventKind::async_error).size(), 1U);
  const auto closed = events_of(evidence, EventKind::peer_closed);
  ASSERT_EQ(closed.size(), 1U);
  EXPECT_EQ(closed[0].who.rank, 1);
  EXPECT_EQ(closed[0].peer.host, "n4.example");
}

TEST(WatchdogTest, TwoRunsInOneLogAreTwoSnapshots) {
  const auto line = [](const char* hour) {
    return std::string("[rank2]:[E0312 ") + hour +
           ":45:40.1 ProcessGroupNCCL.cpp:607] [Rank 2] Watchdog caught collective operation timeout: "
           "WorkNCCL(SeqNum=77, OpType=BROADCAST, NumelIn=5, NumelOut=5, Timeout(ms)=6000) ran for 60" +
           hour + " milliseconds before timing out.\n";
  };
  const auto evidence = evidence_of(line("01") + line("09"));
  ASSERT_EQ(evidence.ops.size(), 2U);
  EXPECT_EQ(evidence.ops[0].snapshot, 0);
  EXPECT_EQ(evidence.ops[1].snapshot, 1);
  // The same line twice is one fact.
  EXPECT_EQ(evidence_of(line("01") + line("01")).ops.size(), 1U);
}

TEST(WatchdogTest, AStuckHeartbeatAndAnAbortAreEvents) {
  const auto evidence = evidence_of(
      "[rank7]:[E0626 05:14:36.3 ProcessGroupNCCL.cpp:1743] [PG ID 0 PG GUID 0(default_pg) Rank 7] "
      "ProcessGroupNCCL's "
      "watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.\n"
      "[rank7]:[E0626 05:14:36.4 ProcessGroupNCCL.cpp:621] [Rank 7] To avoid data inconsistency, we are "
      "taking the entire "
      "process down.\n");
  const auto stuck = events_of(evidence, EventKind::heartbeat_stuck);
  ASSERT_EQ(stuck.size(), 1U);
  EXPECT_EQ(stuck[0].code, 480);
  EXPECT_EQ(stuck[0].who.rank, 7);
  EXPECT_EQ(events_of(evidence, EventKind::aborted).size(), 1U);
  EXPECT_TRUE(evidence.ops.empty());
}

}  // namespace
}  // namespace ringcomm::diag
