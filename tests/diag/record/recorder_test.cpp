// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/diag/recorder.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "diag/evidence/record/record_reader.hpp"
#include "diag/record/plan_code.hpp"
#include "diag/record/record_bytes.hpp"
#include "diag/record/record_folder.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm::diag {
namespace {

namespace fs = std::filesystem;
using test::WritingRank;

const RecordIdentity kAlone{.job = 7, .communicator = 3};

struct RecorderTest : testing::Test {
  test::TempDir folder;
};

std::string why_refused(const fs::path& path, FolderUse use = FolderUse::ours) {
  const auto opened = open_folder({path, use});
  return opened.is_ok() ? std::string() : std::string(opened.status().message().substr(path.string().size()));
}

TEST_F(RecorderTest, FileIsOwnerOnlyAndRemovedOnCleanExit) {
  auto recorder = Recorder::create(kAlone, {.folder = folder.path() / "records"});
  ASSERT_TRUE(recorder->is_on()) << recorder->where();
  struct stat facts {};
  ASSERT_EQ(stat(recorder->path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777U, 0600U);
  EXPECT_GE(facts.st_blocks * 512, facts.st_size);  // no hole
  ASSERT_EQ(stat(recorder->path().parent_path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777U, 0700U);
  EXPECT_EQ(recorder->where(), "recorder: " + recorder->path().string() + ", 4096 entries");
  const fs::path path = recorder->path();
  recorder->close();
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(RecorderTest, FileStaysWithoutCloseAndAfterAFailure) {
  fs::path left;
  {
    auto recorder = Recorder::create(kAlone, {.folder = folder.path()});
    left = recorder->path();
  }
  EXPECT_TRUE(fs::exists(left));
  auto failed = Recorder::create(kAlone, {.folder = folder.path()});
  EXPECT_NE(failed->path(), left);  // the name is taken
  failed->fail(Status::timeout("late"), 0);
  failed->close();
  EXPECT_TRUE(fs::exists(failed->path()));
}

TEST_F(RecorderTest, FoldersOfOthersAreRefused) {
  const fs::path link = folder.path() / "link";
  fs::create_directory_symlink(folder.path(), link);
  EXPECT_EQ(why_refused(link), ": is a link or no folder");
  const fs::path open = folder.path() / "open";
  fs::create_directory(open);
  fs::permissions(open, fs::perms(0755));
  EXPECT_EQ(why_refused(open), ": open to other users (mode must be 0700)");
  EXPECT_EQ(why_refused(open, FolderUse::named), "");
  fs::permissions(open, fs::perms(0777));
  EXPECT_EQ(why_refused(open, FolderUse::named), ": other users may write to it");
  EXPECT_EQ(why_refused(folder.path() / "a" / "b"), ": No such file or directory");
  if (geteuid() == 0 && chown(open.c_str(), 12345, 12345) == 0) {
    EXPECT_EQ(why_refused(open), ": belongs to user 12345, not to 0");
  }
  const auto fell_back = Recorder::create(kAlone, {.folder = link});
  EXPECT_TRUE(fell_back->where().find("(" + link.string() + ": is a link or no folder)") != std::string::npos)
      << fell_back->where();
  fell_back->close();
}

TEST_F(RecorderTest, ALimitOfTheFileSizeMakesItSmaller) {
  const pid_t pid = fork();
  if (pid == 0) {
    const rlimit limit{65536, 65536};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto recorder = Recorder::create(kAlone, {.folder = folder.path()});
    const bool is_smaller =
        recorder->is_on() && recorder->where().find(" instead of 4096 (") != std::string::npos;
    const rlimit nothing{100, 100};
    setrlimit(RLIMIT_FSIZE, &nothing);
    auto off = Recorder::create(kAlone, {.folder = folder.path()});
    const bool is_off = !off->is_on() && off->where().starts_with("recorder: off (") &&
                        off->open_channel(std::vector<int>{0}, 0, "") == nullptr;
    _exit(is_smaller && is_off ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(RecorderTest, ChannelsAndNamesBeyondTheirRoomAreCounted) {
  auto recorder = Recorder::create(kAlone, {.folder = folder.path(), .entries = 64});
  ChannelSink* last = nullptr;
  int opened = 0;
  for (int i = 0; i < 100; ++i) {
    ChannelSink* const sink = recorder->open_channel(std::vector<int>{0}, 0, "c" + std::to_string(i));
    if (sink != nullptr) last = sink, ++opened;
  }
  EXPECT_GE(opened, 1);
  EXPECT_LT(opened, 100);
  const std::vector<std::string> sites = [] {
    std::vector<std::string> names;
    for (int i = 0; i < 1000; ++i) names.push_back("a call site of some length, number " + std::to_string(i));
    return names;
  }();
  for (std::uint32_t i = 0; i < 1000; ++i)
    last->enter({.op = OpCode::barrier, .sequence = i + 1}, INT64_MAX, sites[i]);
  recorder->fail(Status::internal(std::string(5000, 'x')), -1);
  const std::string bytes = test::bytes_of_file(recorder->path());
  const auto view = RecordView::of(bytes);
  ASSERT_TRUE(view.is_ok());
  EXPECT_EQ(view->channels().size(), static_cast<std::size_t>(opened));
  EXPECT_GT(view->header().dropped, 900U);
  EXPECT_EQ(view->name(view->header().failure_name), std::string(511, 'x'));
}

TEST_F(RecorderTest, PlansAreKeptOnceAndCutToFit) {
  auto recorder = Recorder::create(kAlone, {.folder = folder.path()});
  ChannelSink* const sink = recorder->open_channel(std::vector<int>{0}, 0, "");
  plan::RankPlan slice{.rank = 0, .ranks = 1, .op = OpCode::all_gather, .steps = 2, .signature = 5};
  slice.slots = {{plan::SlotKind::own, 64}, {plan::SlotKind::result, 128}};
  slice.ops = {
      {.kind = plan::OpKind::pull, .step = 1, .peer = 0, .block = 0, .slot = 1, .offset = 64, .bytes = 64}};
  recorder->keep_plan(sink, 5, slice);
  recorder->keep_plan(sink, 5, slice);
  plan::RankPlan large = slice;
  large.signature = 6;
  large.ops.resize(100000);
  recorder->keep_plan(sink, 6, large);
  const std::string bytes = test::bytes_of_file(recorder->path());
  const auto view = RecordView::of(bytes);
  ASSERT_TRUE(view.is_ok());
  const auto first = decode_plan(view->plans());
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->slice, slice);
  const auto second = decode_plan(view->plans().subspan(first->code.bytes));
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->slice.ops.size() + second->code.ops_left_out, 100000U);
  EXPECT_EQ(view->plans().size(), first->code.bytes + second->code.bytes);
}

TEST_F(RecorderTest, AForkedChildWritesToNobodysFile) {
  WritingRank rank(folder.path(), 0, 2);
  rank.run();
  const pid_t pid = fork();
  if (pid == 0) {
    rank.recorder->forget();
    rank.run();
    rank.recorder->close();
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  const std::string bytes = rank.bytes();
  const auto view = RecordView::of(bytes);
  ASSERT_TRUE(view.is_ok());
  EXPECT_EQ(view->header().entries_written, 3U);
}

TEST_F(RecorderTest, OldRecordsOfTheDeadAreTrimmed) {
  std::vector<fs::path> dead;
  for (int i = 0; i < 3; ++i) {
    auto recorder = Recorder::create({.job = static_cast<std::uint64_t>(10 + i), .communicator = 1},
                                     {.folder = folder.path()});
    dead.push_back(recorder->path());
  }
  const auto alive = Recorder::create({.job = 9, .communicator = 1}, {.folder = folder.path()});
  const auto bytes = fs::file_size(alive->path());
  fs::permissions(folder.path(), fs::perms(0700));
  const fs::path verdict = folder.path() / verdict_name(10);
  std::ofstream(verdict) << "a verdict";
  std::ofstream(folder.path() / "precious.rec") << "not ours";
  trim_records(folder.path(), 2 * bytes + bytes / 2);
  EXPECT_FALSE(fs::exists(dead[0]));
  EXPECT_FALSE(fs::exists(verdict));
  EXPECT_TRUE(fs::exists(alive->path()));
  trim_records(folder.path(), 0);
  for (const fs::path& path : dead) EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(alive->path()));
  EXPECT_TRUE(fs::exists(folder.path() / "precious.rec"));
}

/// The writer counts its states in memory that outlives it; the record of the dead is at most one behind.
TEST_F(RecorderTest, TwoHundredKilledWritersLeaveTheirLastState) {
  auto* const done = static_cast<std::atomic<std::uint32_t>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (int round = 0; round < 200; ++round) {
    done->store(0);
    const pid_t pid = fork();
    if (pid == 0) {
      WritingRank rank(folder.path(), 0, 2, 64);
      for (std::uint32_t i = 1;; ++i) {
        const Descriptor op = rank.next();
        rank.sink->enter(op, INT64_MAX, "");
        done->store(2 * i - 1);
        rank.sink->leave(op, StatusCode::ok);
        done->store(2 * i);
      }
    }
    while (done->load() == 0) std::this_thread::yield();
    usleep(static_cast<useconds_t>(round * 7));
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    const auto files = fs::directory_iterator(folder.path());
    const fs::path path = files->path();
    const std::string bytes = test::bytes_of_file(path);
    HangEvidence evidence;
    evidence.files.push_back({});
    ASSERT_TRUE(read_record({.bytes = bytes, .path = "killed"}, evidence).is_ok());
    const CounterFact& counter = evidence.counters.at(0);
    const std::int64_t states = *counter.enqueued + *counter.completed;
    ASSERT_GE(states, done->load());
    ASSERT_LE(states, done->load() + 1);
    ASSERT_TRUE(fs::remove(path));
  }
  munmap(done, 4096);
}

}  // namespace
}  // namespace ringcomm::diag
