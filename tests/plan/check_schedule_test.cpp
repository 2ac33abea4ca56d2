// SPDX-License-Identifier: Apache-2.0
// Schedules of calls on several groups: what is safe, and how each fault is named.
#include <gtest/gtest.h>

#include <map>

#include "ringcomm/core/text.hpp"
#include "ringcomm/plan/schedule.hpp"

namespace ringcomm::plan {
namespace {

constexpr int kTp = 0, kCp = 1;

ScheduledCall collective(int group, const std::string& op = "all_reduce", const std::string& stream = "") {
  ScheduledCall call;
  call.group = group;
  call.op = op;
  call.stream = stream;
  return call;
}
ScheduledCall message(CallKind kind, int group, int peer, int batch = kNone) {
  ScheduledCall call;
  call.kind = kind;
  call.group = group;
  call.peer = peer;
  call.batch = batch;
  return call;
}
ScheduledCall order(CallKind kind, const std::string& stream, const std::string& awaited) {
  ScheduledCall call;
  call.kind = kind;
  call.stream = stream;
  call.awaited = awaited;
  return call;
}
ScheduledCall creation(int group, std::vector<int> members = {}) {
  ScheduledCall call;
  call.kind = CallKind::create;
  call.group = group;
  call.members = std::move(members);
  return call;
}

/// Two ranks that share both groups.
CallSchedule pair_of(std::vector<ScheduledCall> first, std::vector<ScheduledCall> second) {
  return {.groups = {{.name = "tp", .members = {0, 1}}, {.name = "cp", .members = {0, 1}}},
          .calls = {std::move(first), std::move(second)}};
}

ScheduleReport checked(const CallSchedule& schedule, bool is_one_stream = false) {
  auto report = check_schedule(schedule, is_one_stream);
  EXPECT_TRUE(report.is_ok()) << report.status().to_string();
  return report.is_ok() ? report.value() : ScheduleReport{};
}
std::string lines_of(const ScheduleReport& report) {
  std::string text = report.sentence;
  for (const ScheduleLine& line : report.lines) text += "\n" + line.text;
  return text;
}

TEST(CheckScheduleTest, OneOrderIsSafe) {
  const auto report = checked(pair_of({collective(kTp), collective(kCp), collective(kTp)},
                                      {collective(kTp), collective(kCp), collective(kTp)}));
  EXPECT_EQ(report.fault, ScheduleFault::none);
  EXPECT_EQ(report.sentence, "free of deadlock: 6 calls of 2 ranks meet in 3 places");
  EXPECT_EQ(report.calls, 6U);
  EXPECT_EQ(report.meetings, 3U);
}

TEST(CheckScheduleTest, TwoOrdersAreACircleWithBothLines) {
  auto first = collective(kTp);
  first.bytes = 4096;
  first.dtype = "bf16";
  first.at = "step.py:12";
  const auto report = checked(pair_of({first, collective(kCp)}, {collective(kCp), first}));
  EXPECT_EQ(report.fault, ScheduleFault::deadlock);
  EXPECT_EQ(
      lines_of(report),
      "deadlock: 2 calls wait in a circle, each for the next\n"
      "rank 0 waits in tp #1 (all_reduce, 4096 bytes of bf16, step.py:12) for rank 1, before its cp #1 "
      "(all_reduce)\n"
      "rank 1 waits in cp #1 (all_reduce) for rank 0, before its tp #1 (all_reduce, 4096 bytes of bf16, "
      "step.py:12)");
  ASSERT_EQ(report.lines.size(), 2U);
  EXPECT_EQ(report.lines[0].rank, 0);
  EXPECT_EQ(report.lines[0].call, 0U);
  EXPECT_EQ(report.lines[0].waits_for, 1);
  EXPECT_EQ(report.lines[1].rank, 1);
  EXPECT_NE(report.fix.find("one order"), std::string::npos);
}

TEST(CheckScheduleTest, StreamsUntieTheOrderAndAHostSyncTiesItAgain) {
  const auto tp = collective(kTp, "all_reduce", "a");
  const auto cp = collective(kCp, "all_gather", "b");
  EXPECT_EQ(checked(pair_of({tp, cp}, {cp, tp})).fault, ScheduleFault::none);
  EXPECT_EQ(checked(pair_of({tp, cp}, {cp, tp}), true).fault, ScheduleFault::deadlock) << "one stream";
  const auto sync = order(CallKind::sync, "", "");
  EXPECT_EQ(checked(pair_of({tp, sync, cp}, {cp, tp})).fault, ScheduleFault::none) << "one side only";
  const auto tied = checked(pair_of({tp, sync, cp}, {cp, sync, tp}));
  EXPECT_EQ(tied.fault, ScheduleFault::deadlock);
  EXPECT_EQ(tied.lines.size(), 2U);
  const auto other = order(CallKind::sync, "", "c");
  EXPECT_EQ(checked(pair_of({tp, other, cp}, {cp, other, tp})).fault, ScheduleFault::none);
  const auto event_a = order(CallKind::stream_wait, "b", "a");
  const auto event_b = order(CallKind::stream_wait, "a", "b");
  EXPECT_EQ(checked(pair_of({tp, event_a, cp}, {cp, event_b, tp})).fault, ScheduleFault::deadlock);
}

TEST(CheckScheduleTest, ACircleOverThreeRanksAndGroupsIsShortAndInOrder) {
  CallSchedule schedule;
  schedule.groups = {{.name = "ab", .members = {0, 1}},
                     {.name = "bc", .members = {1, 2}},
                     {.name = "ca", .members = {2, 0}},
                     {.name = "all", .members = {0, 1, 2, 3}}};
  schedule.calls = {{collective(3), collective(0), collective(2)},
                    {collective(3), collective(1), collective(0)},
                    {collective(3), collective(2), collective(1)},
                    {collective(3)}};
  const auto report = checked(schedule);
  EXPECT_EQ(lines_of(report),
            "deadlock: 3 calls wait in a circle, each for the next\n"
            "rank 0 waits in ab #1 (all_reduce) for rank 1, before its ca #1 (all_reduce)\n"
            "rank 1 waits in bc #1 (all_reduce) for rank 2, before its ab #1 (all_reduce)\n"
            "rank 2 waits in ca #1 (all_reduce) for rank 0, before its bc #1 (all_reduce)");
}

TEST(CheckScheduleTest, ACollectiveWaitsForAllItsMembers) {
  CallSchedule schedule;
  schedule.groups = {{.name = "all", .members = {0, 1, 2}}};
  schedule.calls = {{collective(0), collective(0)}, {collective(0), collective(0)}, {collective(0)}};
  const auto report = checked(schedule);
  EXPECT_EQ(report.fault, ScheduleFault::missing_call);
  EXPECT_EQ(lines_of(report),
            "missing call: rank 2 never makes all #2 (all_reduce)\n"
            "rank 0 waits in all #2 (all_reduce) for rank 2\n"
            "rank 1 waits in all #2 (all_reduce) for rank 2\n"
            "rank 2 ends after 1 calls in this group");
}

TEST(CheckScheduleTest, DifferentCallsThatMeetAreNamed) {
  const auto differing = [](auto change) {
    ScheduledCall mine = collective(kTp, "reduce");
    mine.bytes = 64;
    mine.dtype = "fp32";
    mine.reduce_op = "sum";
    mine.root = "0";
    ScheduledCall theirs = mine;
    change(theirs);
    return checked(pair_of({collective(kTp), mine}, {collective(kTp), theirs})).sentence;
  };
  const std::string head = "mismatch: ranks 0 and 1 make different calls where they meet (";
  EXPECT_EQ(differing([](auto& call) { call.op = "broadcast"; }), head + "reduce against broadcast)");
  EXPECT_EQ(differing([](auto& call) { call.bytes = 65; }), head + "64 bytes against 65)");
  EXPECT_EQ(differing([](auto& call) { call.dtype = "bf16"; }), head + "fp32 against bf16)");
  EXPECT_EQ(differing([](auto& call) { call.reduce_op = "max"; }), head + "sum against max)");
  EXPECT_EQ(differing([](auto& call) { call.root = "1"; }), head + "root 0 against 1)");
  EXPECT_EQ(differing([](auto& call) { call.bytes.reset(); }).substr(0, 4), "free")
      << "not said: not compared";
}

TEST(CheckScheduleTest, TheFirstMismatchIsNamedNotALaterOne) {
  const auto a = collective(kTp, "a"), b = collective(kTp, "b"), c = collective(kTp, "c");
  const auto report = checked(pair_of({a, b, c, a}, {a, c, b, b}));
  EXPECT_EQ(report.sentence, "mismatch: ranks 0 and 1 make different calls where they meet (b against c)");
  ASSERT_EQ(report.lines.size(), 2U);
  EXPECT_EQ(report.lines[0].call, 1U);
  EXPECT_EQ(report.lines[1].call, 1U);
}

TEST(CheckScheduleTest, SizesOfAllToAllMayDiffer) {
  for (const char* op : {"all_to_all", "all_to_all_single", "all_gather_v"}) {
    auto mine = collective(kTp, op), theirs = collective(kTp, op);
    mine.bytes = 1;
    theirs.bytes = 2;
    EXPECT_EQ(checked(pair_of({mine}, {theirs})).fault, ScheduleFault::none) << op;
  }
}

TEST(CheckScheduleTest, SendsThatWaitForOneAnotherAndTheWaysOut) {
  const auto send = [](int peer, int batch = kNone) { return message(CallKind::send, kCp, peer, batch); };
  const auto recv = [](int peer, int batch = kNone) { return message(CallKind::recv, kCp, peer, batch); };
  const auto stuck = checked(pair_of({send(1), recv(1)}, {send(0), recv(0)}));
  EXPECT_EQ(lines_of(stuck),
            "deadlock: 2 calls wait in a circle, each for the next\n"
            "rank 0 waits in cp #1 (send to 1) for rank 1, before its cp #1 (recv from 1)\n"
            "rank 1 waits in cp #1 (send to 0) for rank 0, before its cp #1 (recv from 0)");
  EXPECT_NE(stuck.fix.find("batch"), std::string::npos);
  EXPECT_EQ(checked(pair_of({send(1, 1), recv(1, 1)}, {send(0, 1), recv(0, 1)})).fault, ScheduleFault::none);
  EXPECT_EQ(checked(pair_of({send(1), recv(1)}, {recv(0), send(0)})).fault, ScheduleFault::none);
  auto buffered = pair_of({send(1), recv(1)}, {send(0), recv(0)});
  buffered.groups[kCp].slots = 1;
  EXPECT_EQ(checked(buffered).fault, ScheduleFault::none);
  auto deeper = pair_of({send(1), send(1), recv(1), recv(1)}, {send(0), send(0), recv(0), recv(0)});
  deeper.groups[kCp].slots = 1;
  EXPECT_EQ(checked(deeper).fault, ScheduleFault::deadlock) << "two sends, one slot";
  deeper.groups[kCp].slots = 2;
  EXPECT_EQ(checked(deeper).fault, ScheduleFault::none);
}

TEST(CheckScheduleTest, MessagesWithoutTheirOtherSide) {
  const auto send = message(CallKind::send, kCp, 1);
  const auto recv = message(CallKind::recv, kCp, 0);
  EXPECT_EQ(lines_of(checked(pair_of({send, send}, {recv}))),
            "missing call: rank 1 never receives what rank 0 sends\n"
            "rank 0 waits in cp #2 (send to 1) for rank 1\n"
            "rank 1 ends after 1 recvs from rank 0 in this group");
  EXPECT_EQ(lines_of(checked(pair_of({}, {recv}))),
            "missing call: rank 0 never sends what rank 1 receives\n"
            "rank 1 waits in cp #1 (recv from 0) for rank 0\n"
            "rank 0 ends after 0 sends to rank 1 in this group");
  auto unread = pair_of({send, send}, {recv});
  unread.groups[kCp].slots = 4;
  EXPECT_EQ(lines_of(checked(unread)),
            "missing call: rank 1 never receives what rank 0 sends\n"
            "rank 0 calls cp #2 (send to 1)\n"
            "rank 1 ends after 1 recvs from rank 0 in this group");
}

TEST(CheckScheduleTest, ARankThatSendsToItselfWithoutABatchWaitsForItself) {
  const auto report =
      checked(pair_of({message(CallKind::send, kCp, 0), message(CallKind::recv, kCp, 0)}, {}));
  EXPECT_EQ(report.fault, ScheduleFault::deadlock);
  EXPECT_EQ(report.sentence, "deadlock: rank 0 waits for itself");
}

TEST(CheckScheduleTest, GroupsAreMadeInOneOrderByAllRanks) {
  EXPECT_EQ(checked(pair_of({creation(kTp), creation(kCp)}, {creation(kTp), creation(kCp)})).fault,
            ScheduleFault::none);
  EXPECT_EQ(lines_of(checked(pair_of({creation(kTp), creation(kCp)}, {creation(kCp), creation(kTp)}))),
            "mismatch: ranks 0 and 1 make different calls where they meet (tp against cp)\n"
            "rank 0 calls the creation of tp\nrank 1 calls the creation of cp");
  EXPECT_EQ(checked(pair_of({creation(kTp)}, {creation(kTp, {1, 0})})).sentence,
            "mismatch: ranks 0 and 1 make different calls where they meet (members [0, 1] against [1, 0])");
  EXPECT_EQ(checked(pair_of({collective(kTp), creation(kTp)}, {creation(kTp)})).sentence,
            "mismatch: rank 0 uses tp before it has made it");
  CallSchedule outsider;
  outsider.groups = {{.name = "tp", .members = {0, 1}}};
  outsider.calls = {{creation(0)}, {creation(0)}, {}};
  EXPECT_EQ(lines_of(checked(outsider)),
            "missing call: rank 2 never makes the creation of tp\n"
            "rank 0 waits in the creation of tp for rank 2\n"
            "rank 1 waits in the creation of tp for rank 2\nrank 2 ends without it");
  outsider.groups[0].is_made_by_members = true;
  EXPECT_EQ(checked(outsider).fault, ScheduleFault::none);
}

TEST(CheckScheduleTest, WhatCannotBeIsRefused) {
  const auto refused = [](const CallSchedule& schedule) {
    const auto report = check_schedule(schedule);
    return report.is_ok() ? std::string("accepted") : report.status().to_string();
  };
  const auto expect = [&](const CallSchedule& schedule, const std::string& words) {
    EXPECT_NE(refused(schedule).find(words), std::string::npos) << refused(schedule);
  };
  auto schedule = pair_of({}, {});
  schedule.groups[0].members = {0, 2};
  expect(schedule, "group tp has member 2 of a job of 2 ranks");
  schedule.groups[0].members = {0, 0};
  expect(schedule, "member 0 twice");
  schedule.groups[0].members = {};
  expect(schedule, "no members");
  expect(pair_of({collective(7)}, {}), "call 0 of rank 0 has a group that is unknown");
  expect(pair_of({collective(kNone)}, {}), "unknown");
  auto alone = pair_of({}, {collective(kTp)});
  alone.groups[kTp].members = {0};
  expect(alone, "call 0 of rank 1 is in tp [0], of which it is no member");
  expect(pair_of({message(CallKind::send, kTp, 5)}, {}), "has peer 5, no member of tp [0, 1]");
  auto sync = order(CallKind::sync, "", "");
  sync.batch = 1;
  expect(pair_of({sync}, {}), "in a batch");
  expect(pair_of({order(CallKind::stream_wait, "", "a")}, {}), "lets no stream wait");
  auto elsewhere = message(CallKind::recv, kTp, 1, 1);
  elsewhere.stream = "b";
  expect(pair_of({message(CallKind::send, kTp, 1, 1), elsewhere}, {}), "another stream");
  CallSchedule large;
  large.calls.resize(kScheduleRanksMax + 1);
  expect(large, "at most 65536");
  auto long_one = pair_of({}, {});
  long_one.calls[0].assign(kScheduleCallsMax + 1, order(CallKind::sync, "", ""));
  expect(long_one, "at most 524288");
}

TEST(CheckScheduleTest, LargeSchedulesAreLinear) {  // a quadratic one would take hours
  CallSchedule schedule;
  constexpr int kRanks = 1024;
  schedule.groups.push_back({.name = "all", .members = {}});
  for (int rank = 0; rank < kRanks; ++rank) schedule.groups[0].members.push_back(rank);
  schedule.calls.assign(kRanks, std::vector<ScheduledCall>(100, collective(0)));
  EXPECT_EQ(checked(schedule).fault, ScheduleFault::none);
  schedule.calls[77].pop_back();
  EXPECT_EQ(checked(schedule).fault, ScheduleFault::missing_call);
}

TEST(CheckScheduleTest, AnEmptyScheduleIsSafe) { EXPECT_EQ(checked({}).fault, ScheduleFault::none); }

}  // namespace
}  // namespace ringcomm::plan
