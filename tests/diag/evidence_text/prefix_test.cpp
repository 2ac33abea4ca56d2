// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "diag/evidence/text/glue.hpp"
#include "diag/evidence/text/line.hpp"
#include "diag/evidence/text/scan.hpp"
#include "diag/evidence/text/section.hpp"
#include "diag/evidence/text/timestamp.hpp"

namespace ringcomm::diag::text {
namespace {

Line stripped(std::string_view text) { return PrefixStripper().strip(text); }

TEST(PrefixTest, LaunchersNameTheRank) {
  EXPECT_EQ(stripped("[1,12]<stderr>:hello").who.rank, 12);
  EXPECT_EQ(stripped("[1,12]<stderr>:hello").text, "hello");
  EXPECT_EQ(stripped("[prterun-n1-77@1,3]<stdout>: hello").who.rank, 3);
  EXPECT_EQ(stripped("  7: hello").who.rank, 7);
  EXPECT_EQ(stripped("[rank3]: hello").who.rank, 3);
  EXPECT_EQ(stripped("[rank3]: hello").text, "hello");
  EXPECT_EQ(stripped("[1,2]<stdout>:[rank5]:hello").who.rank, 5);
  EXPECT_EQ(stripped("[1,2]<stdout>:[rank5]:hello").launcher, "mpi_prefix");
}

TEST(PrefixTest, OthersNameAProcessOrAHost) {
  const Line ray = stripped("(RayTrainWorker pid=81, ip=10.1.2.3) hello");
  EXPECT_EQ(ray.who.pid, 81);
  EXPECT_EQ(ray.who.address, "10.1.2.3");
  EXPECT_EQ(ray.text, "hello");
  // The driver's own process, in front of the lines of all ranks.
  EXPECT_EQ(stripped("(my-job, pid=81) hello").who.pid, kUnknown);
  EXPECT_EQ(stripped("(my-job, pid=81) hello").text, "hello");
  EXPECT_EQ(stripped("[trainer7|2]:hello").who.name, "trainer7|2");
  EXPECT_EQ(stripped("[default3]:hello").who.name, "default3");
  EXPECT_EQ(stripped("[pod/worker-3/main] hello").who.host, "worker-3");
  EXPECT_EQ(stripped("n07: [rank1]: hello").who.host, "n07");
}

TEST(PrefixTest, AHostIsAHostOnceItWasSeenAsOne) {
  PrefixStripper stripper;
  EXPECT_EQ(stripper.strip("n07: hello").who.host, "");
  EXPECT_EQ(stripper.strip("n07: Traceback (most recent call last):").who.host, "n07");
  EXPECT_EQ(stripper.strip("n07: hello").who.host, "n07");
  EXPECT_EQ(stripper.strip("RuntimeError: hello").text, "RuntimeError: hello");
}

TEST(PrefixTest, WhatIsNoPrefixStays) {
  for (const char* const text : {"[Rank 3] Watchdog", "[PG 0 Rank 3] x", "(gdb) bt", "GPU0: x",
                                 "    f (a.py:1)", "12:30 x", "[30/1422] step"})
    EXPECT_EQ(stripped(text).text, text);
}

TEST(PrefixTest, EscapesAndScrollMarksGo) {
  std::string scratch;
  EXPECT_EQ(without_escapes("\x1b[1;31mred\x1b[0m", scratch), "red");
  EXPECT_EQ(without_scroll_mark("work: -1.[25/1422]"), "work: -1.");
  EXPECT_EQ(without_scroll_mark("text         [3/9]"), "text");
  EXPECT_EQ(without_scroll_mark("step [30/1422]"), "step [30/1422]");
}

std::int64_t time_of(std::string_view text) { return take_time(text).value_or(-1); }

TEST(TimestampTest, FormsOfATime) {
  constexpr std::int64_t kDay = 20472 * kDayNs;  // 2026-01-19
  EXPECT_EQ(days_since_1970(2026, 1, 19), 20472);
  EXPECT_EQ(time_of("2026-01-19T13:06:53.5Z x"), kDay + 47213 * kSecondNs + kSecondNs / 2);
  EXPECT_EQ(time_of("[2026-01-19 13:06:53,500] x"), kDay + 47213 * kSecondNs + kSecondNs / 2);
  EXPECT_EQ(time_of("[Mon Jan 19 13:06:53 2026] x"), kDay + 47213 * kSecondNs);
  EXPECT_EQ(time_of("13:06:53 x"), 47213 * kSecondNs);
  EXPECT_EQ(time_of("Jan 19 13:06:53 host kernel: x"), 19 * kDayNs + 47213 * kSecondNs);
  EXPECT_EQ(glog_time("[E0119 13:06:53.5 a.cpp:1]"), 19 * kDayNs + 47213 * kSecondNs + kSecondNs / 2);
  EXPECT_EQ(glog_time("E119 13:06:53 a.cpp:1]"), 19 * kDayNs + 47213 * kSecondNs);
  EXPECT_EQ(time_of("25:00:00 x"), -1);
  EXPECT_EQ(time_of("2026-13-19 13:06:53 x"), -1);
  EXPECT_FALSE(glog_time("[E1399 13:06:53 a.cpp:1]"));
}

TEST(TimestampTest, ALineWithoutADateTakesThatOfTheFile) {
  Dates dates;
  dates.learn(60 * kDayNs + 5);
  EXPECT_EQ(dates.completed(7), 60 * kDayNs + 7);
  dates.learn(days_since_1970(2024, 3, 1) * kDayNs + 9);
  EXPECT_EQ(dates.completed(7), days_since_1970(2024, 3, 1) * kDayNs + 7);
  // Day 60 of a year that nobody wrote is March 1, also in a leap year.
  EXPECT_EQ(dates.completed(60 * kDayNs + 5), days_since_1970(2024, 3, 1) * kDayNs + 5);
  EXPECT_EQ(dates.completed(59 * kDayNs), days_since_1970(2024, 2, 28) * kDayNs);
}

std::vector<std::string> messages(std::string_view line) {
  std::vector<std::string> out;
  for_each_message(line, [&](std::string_view message) { out.emplace_back(message); });
  return out;
}

TEST(GlueTest, MessagesOfOneLineAreCutApart) {
  EXPECT_EQ(messages("12%|# | 1/8 [00:01<00:07][E ProcessGroupNCCL.cpp:475] [Rank 1] x").size(), 2U);
  EXPECT_EQ(messages("[rank1]:[E0312 01:45:40.1 x.cpp:1] a[rank2]:[E0312 01:45:40.1 x.cpp:1] b").size(), 2U);
  const auto nccl = messages("h1:1:2 [0] NCCL INFO one h2:3:4 [1] misc/a.cc:3 NCCL WARN two");
  ASSERT_EQ(nccl.size(), 2U);
  EXPECT_EQ(nccl[1], "h2:3:4 [1] misc/a.cc:3 NCCL WARN two");
  // Prefixes belong to the message behind them.
  EXPECT_EQ(messages("18:11:06.680 [rank4]:[E0205 18:11:06.3 x.cpp:1] a").size(), 1U);
  EXPECT_EQ(messages("[80740] [rank4]:[E0205 18:11:06.3 x.cpp:1] a").size(), 1U);
}

TEST(SectionTest, RanksOfFileNames) {
  EXPECT_EQ(rank_of_log_name("logs/Rank-118.log"), 118);
  EXPECT_EQ(rank_of_log_name("pyspy_rank0.txt"), 0);
  EXPECT_EQ(rank_of_log_name("run1.log"), kUnknown);
  EXPECT_EQ(rank_of_stack_name("pyspy_3.txt"), 3);
  EXPECT_EQ(rank_of_stack_name("stack.node-2"), kUnknown);
  EXPECT_EQ(rank_of_stack_name("pyspy-48213.txt"), kUnknown);
}

TEST(ScanTest, PeersAndBusIds) {
  EXPECT_EQ(peer_of("node-a.example<32926>").host, "node-a.example");
  EXPECT_EQ(peer_of("10.0.3.59<44206>").address, "10.0.3.59");
  EXPECT_EQ(peer_of("[2001:db8::22]:33062").address, "2001:db8::22");
  EXPECT_EQ(peer_of("10.0.3.59:29500").address, "10.0.3.59");
  EXPECT_EQ(bus_id_of("PCI:0000:dc:00"), "0000:dc:00.0");
  EXPECT_EQ(bus_id_of("dc000"), "0000:dc:00.0");
  EXPECT_EQ(bus_id_of("what"), "");
}

}  // namespace
}  // namespace ringcomm::diag::text
