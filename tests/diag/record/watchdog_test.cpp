// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/diag/watchdog.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <thread>
#include <vector>

#include "diag/record/live_record.hpp"
#include "diag/record/record_bytes.hpp"
#include "diag/record/record_folder.hpp"
#include "diag/record/verdict_file.hpp"
#include "ringcomm/diag/explain.hpp"
#include "ringcomm/diag/live.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm::diag {
namespace {

using namespace std::chrono_literals;
using test::WritingRank;

/// Every test has a job of its own, because the records of a process's folders are all looked through.
std::uint64_t new_job() {
  static std::uint64_t job = 0x5eed0000U + static_cast<std::uint64_t>(getpid()) * 100;
  return ++job;
}

struct WatchdogTest : testing::Test {
  test::TempDir folder;
  std::uint64_t job = new_job();
};

const EventFact* event_of(const HangEvidence& evidence, int rank) {
  const auto at = std::find_if(evidence.events.begin(), evidence.events.end(),
                               [&](const EventFact& event) { return event.who.rank == rank; });
  return at == evidence.events.end() ? nullptr : &*at;
}

TEST_F(WatchdogTest, RecordsOfAJobAreFound) {
  WritingRank a(folder.path(), 0, 2, 64, job);
  WritingRank b(folder.path(), 1, 2, 64, job);
  WritingRank other(folder.path(), 0, 2, 64, new_job());
  EXPECT_EQ(records_of_job(job), (std::vector{a.recorder->path(), b.recorder->path()}));
  b.recorder->close();
  EXPECT_EQ(records_of_job(job), std::vector{a.recorder->path()});
}

/// A process with a record, in the middle of an operation.
struct Child {
  explicit Child(const std::filesystem::path& folder, int rank, std::uint64_t job) {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
      WritingRank writer(folder, rank, 2, 64, job);
      writer.begin();
      (void)!write(ready[1], "x", 1);
      for (;;) pause();
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]), close(ready[1]);
  }
  ~Child() {
    if (pid > 0) kill(pid, SIGKILL), waitpid(pid, nullptr, 0);
  }
  pid_t pid = -1;
};

TEST_F(WatchdogTest, ProcessesAreLookedAt) {
  Child killed(folder.path(), 0, job);
  Child stopped(folder.path(), 1, job);
  remember_folder(folder.path());
  kill(stopped.pid, SIGSTOP);
  waitpid(stopped.pid, nullptr, WUNTRACED);
  const auto records = records_of_job(job);
  ASSERT_EQ(records.size(), 2U);
  kill(killed.pid, SIGKILL);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(killed.pid), &info, WEXITED | WNOWAIT);
  const HangEvidence zombie = read_live_records(records);
  ASSERT_NE(event_of(zombie, 0), nullptr);
  EXPECT_EQ(event_of(zombie, 0)->detail, "has ended (zombie)");
  waitpid(killed.pid, nullptr, 0);
  killed.pid = -1;
  const HangEvidence evidence = read_live_records(records);
  EXPECT_TRUE(evidence.unread.empty());
  ASSERT_NE(event_of(evidence, 0), nullptr);
  EXPECT_EQ(event_of(evidence, 0)->kind, EventKind::missing_process);
  EXPECT_EQ(event_of(evidence, 0)->detail, "no such process");
  ASSERT_NE(event_of(evidence, 1), nullptr);
  EXPECT_EQ(event_of(evidence, 1)->kind, EventKind::stopped);
  kill(stopped.pid, SIGCONT);

  const auto ranks = live_ranks(stopped.pid, folder.path());
  ASSERT_EQ(ranks.size(), 2U);
  EXPECT_EQ(ranks[0].process, ProcessState::gone);
  EXPECT_EQ(ranks[1].pid, stopped.pid);
  ASSERT_EQ(ranks[1].groups.size(), 1U);
  const LiveGroup& group = ranks[1].groups[0];
  EXPECT_EQ(group.name, "dp");
  EXPECT_EQ(group.posted, 1);
  EXPECT_EQ(group.completed, 0);
  EXPECT_EQ(group.op, "all_reduce");
  EXPECT_EQ(group.waits_for, 0);
  EXPECT_EQ(group.call_site, "train.py:12");
  EXPECT_TRUE(group.is_open);
  EXPECT_GT(group.age_ns, 0);
  EXPECT_GT(group.waiting_share, 0);
  EXPECT_EQ(group.ranks, (std::vector<int>{0, 1}));
  EXPECT_GT(ranks[1].resident_high_water_bytes, 0U);
  EXPECT_FALSE(ranks[1].command.empty());
  EXPECT_TRUE(live_ranks(1, folder.path()).empty());
}

TEST_F(WatchdogTest, AJobOfDeadRanksIsNotLive) {
  { Child child(folder.path(), 0, job); }
  for (const LiveRank& rank : live_ranks({}, folder.path())) EXPECT_NE(rank.job, job);
}

TEST_F(WatchdogTest, AReusedProcessNumberIsNotTheWriter) {
  WritingRank rank(folder.path(), 0, 2, 64, job);
  std::string bytes = rank.bytes();
  RecordHeader header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  EXPECT_EQ(process_of(header, rank.recorder->path()).state, ProcessState::running);
  header.clock_monotonic_ns -= 3'600'000'000'000;  // as if the record were an hour older than this process
  EXPECT_EQ(process_of(header, "/nonexistent").state, ProcessState::gone);
  EXPECT_EQ(process_of(header, rank.recorder->path()).state, ProcessState::unknown);  // somebody writes it
  std::memset(header.host, 'x', 5);
  EXPECT_EQ(process_of(header, "/nonexistent").state, ProcessState::unknown);
}

TEST_F(WatchdogTest, OneOfManyPrintsAndAllLearn) {
  std::vector<std::unique_ptr<WritingRank>> ranks;
  for (int r = 0; r < 4; ++r) ranks.push_back(std::make_unique<WritingRank>(folder.path(), r, 4, 64, job));
  for (auto& rank : ranks) rank->run();
  for (int r : {0, 1, 3}) ranks[static_cast<std::size_t>(r)]->begin();
  std::vector<WatchdogReport> reports(4);
  {
    std::vector<std::jthread> threads;
    for (int r : {0, 1, 3})
      threads.emplace_back([&, r] { reports[static_cast<std::size_t>(r)] = report_hang(job, 50ms, 20s); });
  }
  reports[2] = report_hang(job, 50ms);
  int printed = 0;
  for (const WatchdogReport& report : reports) {
    printed += report.is_first ? 1 : 0;
    EXPECT_EQ(report.text.empty(), !report.is_first);
    EXPECT_EQ(report.files.size(), 5U);
    EXPECT_EQ(report.verdict.kind, reports[0].verdict.kind);
    EXPECT_EQ(report.verdict.culprits, reports[0].verdict.culprits);
    EXPECT_EQ(report.verdict.title, reports[0].verdict.title);
  }
  EXPECT_EQ(printed, 1);
  EXPECT_EQ(reports[0].verdict.kind, FaultKind::rank_not_entered);
  EXPECT_EQ(reports[0].verdict.culprits, std::vector<std::string>{"2"});
}

TEST_F(WatchdogTest, RanksWhoseRecordsLieElsewhereAreNamed) {
  std::vector<std::unique_ptr<WritingRank>> ranks;
  for (int r : {0, 1, 3}) ranks.push_back(std::make_unique<WritingRank>(folder.path(), r, 6, 64, job));
  const WatchdogReport report = report_hang(job, 0ms);
  EXPECT_TRUE(report.is_first);
  EXPECT_NE(report.text.find("\nrecords on this host: ranks 0-1, 3; not here: ranks 2, 4-5 (collect "),
            std::string::npos)
      << report.text;
  const std::uint64_t other = new_job();
  WritingRank a(folder.path(), 0, 2, 64, other);
  WritingRank b(folder.path(), 1, 2, 64, other);
  EXPECT_EQ(report_hang(other, 0ms).text.find("not here"), std::string::npos);
}

TEST_F(WatchdogTest, WhoComesTooLateForTheFirstHasNoVerdict) {
  WritingRank a(folder.path(), 0, 2, 64, job);
  WritingRank b(folder.path(), 1, 2, 64, job);
  const VerdictFile first(folder.path() / verdict_name(job), 1s, 0);  // and does not come to an end
  EXPECT_TRUE(first.is_first());
  const WatchdogReport report = report_hang(job, 0ms);
  EXPECT_FALSE(report.is_first);
  EXPECT_TRUE(report.text.empty());
  EXPECT_TRUE(report.verdict.title.empty());
}

TEST_F(WatchdogTest, ARankThatMovesIsSlowNotStuck) {
  WritingRank slow(folder.path(), 0, 2, 1024, job);
  WritingRank waiting(folder.path(), 1, 2, 64, job);
  waiting.begin();
  std::atomic<bool> is_over{false};
  std::jthread thread([&] {
    while (!is_over) slow.run(), std::this_thread::sleep_for(1ms);
  });
  const auto records = records_of_job(job);
  const HangEvidence evidence = evidence_of_hang(records, 50ms);
  is_over = true;
  ASSERT_NE(event_of(evidence, 0), nullptr);
  EXPECT_EQ(event_of(evidence, 0)->kind, EventKind::progress);
  EXPECT_TRUE(event_of(evidence, 0)->detail.starts_with("its record moves: entries "));
  EXPECT_EQ(event_of(evidence, 1), nullptr);
}

TEST_F(WatchdogTest, WhoDiesWhileItWritesIsReplaced) {
  const auto path = folder.path() / verdict_name(job);
  const pid_t pid = fork();
  if (pid == 0) {
    const VerdictFile first(path, 1s, 0);
    _exit(first.is_first() ? 0 : 1);  // without a word
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  const VerdictFile second(path, 1s, 0);
  EXPECT_TRUE(second.is_first());
  second.write({.kind = FaultKind::rank_died,
                .grade = Grade::certain,
                .culprits = {"1", "GPU 3"},
                .title = "it: died"},
               "text");
  const VerdictFile late(path, 20ms, 0);  // the second one still holds it
  EXPECT_FALSE(late.is_first());
  EXPECT_EQ(late.read().kind, FaultKind::insufficient_evidence);
}

TEST_F(WatchdogTest, TheVerdictIsReadBack) {
  const auto path = folder.path() / verdict_name(job);
  {
    const VerdictFile first(path, 1s, 0);
    first.write({.kind = FaultKind::rank_died,
                 .grade = Grade::certain,
                 .culprits = {"1", "GPU 3"},
                 .title = "it: died"},
                "text");
  }
  const VerdictFile second(path, 1s, 0);
  EXPECT_FALSE(second.is_first());
  const Verdict verdict = second.read();
  EXPECT_EQ(verdict.kind, FaultKind::rank_died);
  EXPECT_EQ(verdict.grade, Grade::certain);
  EXPECT_EQ(verdict.culprits, (std::vector<std::string>{"1", "GPU 3"}));
  EXPECT_TRUE(verdict.victims.empty());
  EXPECT_EQ(verdict.title, "it: died");
  const VerdictFile newer(folder.path() / verdict_name(job + 1), 1s, 0);
  EXPECT_TRUE(newer.is_first());
}

TEST_F(WatchdogTest, ALaterLifeOfTheJobGetsAVerdictOfItsOwn) {
  const auto path = folder.path() / verdict_name(job);
  { VerdictFile(path, 1s, 0).write({}, "text"); }
  EXPECT_FALSE(VerdictFile(path, 1s, 0).is_first());
  EXPECT_TRUE(VerdictFile(path, 1s, INT64_MAX).is_first());
}

}  // namespace
}  // namespace ringcomm::diag
