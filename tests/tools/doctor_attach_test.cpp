// SPDX-License-Identifier: Apache-2.0
// ringcomm-doctor attach beside live jobs: idle ones, one that hangs, one that hangs in one group only.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/text.hpp"
#include "support/process_ranks.hpp"
#include "support/program.hpp"
#include "support/temp_dir.hpp"
#include "test_paths.hpp"

namespace ringcomm::doctor {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const std::string kDoctor = RINGCOMM_BIN_DIR "/ringcomm-doctor";

/// What three ranks in one process do after they have met; some never end.
using Fate = Status (*)(Communicator& comm);

Status idle(Communicator&) {
  std::this_thread::sleep_for(120s);
  return {};
}

/// Rank 1 does not come.
Status stay_away(Communicator& comm) {
  return comm.rank() == 1 ? idle(comm) : barrier(comm.channel()).status();
}

/// Ranks 0 and 1 meet for ever in a channel of their own; rank 2 waits for rank 0 in the one of all.
Status hang_in_one_group(Communicator& comm) {
  if (comm.rank() == 2) return barrier(comm.channel()).status();
  auto pair = comm.open_channel({0, 1});
  if (!pair.is_ok()) return pair.status();
  for (;;) {
    if (Status status = barrier(*pair.value()).status(); !status.is_ok()) return status;
    std::this_thread::sleep_for(1ms);
  }
}

/// A process with three ranks, whose records lie in `folder`.
std::string run_job(const std::string& folder, Fate fate, const test::RankVoice& voice) {
  ::setenv("RINGCOMM_RECORD_DIR", folder.c_str(), 1);
  CommunicatorOptions options;
  options.arena_bytes = 1 << 18;
  options.deadline = 120s;
  auto made = Communicator::create_local(3, options);
  if (!made.is_ok()) return made.status().to_string();
  std::vector<std::thread> threads;
  for (Communicator& comm : made.value()) {
    threads.emplace_back([&comm, fate] {
      if (barrier(comm.channel()).is_ok()) static_cast<void>(fate(comm));
    });
  }
  std::this_thread::sleep_for(100ms);  // most have met; a look sees whatever there is
  voice.say("up");
  for (std::thread& thread : threads) thread.join();
  return {};
}

class DoctorAttachTest : public testing::Test {
 protected:
  test::ProgramResult attach(const std::string& arguments) const {
    return test::run_program(
        concat("env RINGCOMM_RECORD_DIR=", folder_.path().string(), " ", kDoctor, " attach ", arguments));
  }
  /// Waits until it is up.
  std::unique_ptr<test::ProcessRanks> start(Fate fate, int jobs = 1) const {
    const std::string folder = folder_.path().string();
    auto ranks = std::make_unique<test::ProcessRanks>(
        jobs, [folder, fate](int, const test::RankVoice& voice) { return run_job(folder, fate, voice); });
    for (int job = 0; job < jobs; ++job) EXPECT_TRUE(ranks->has_said(job, "up", 30s));
    return ranks;
  }
  /// One look, again while `is_wanted` does not hold of it (a loaded host brings ranks late to their calls).
  template <class Wanted>
  json look_until(pid_t pid, Wanted is_wanted) const {
    json value;
    for (int i = 0; i < 40; ++i) {
      const auto run = attach(concat("--json --pid ", pid));
      EXPECT_EQ(run.exit_code, 0) << run.output;
      value = json::parse(run.output, nullptr, false);
      if (!value.is_object() || is_wanted(value)) break;
      std::this_thread::sleep_for(200ms);
    }
    return value;
  }

  test::TempDir folder_;
};

TEST_F(DoctorAttachTest, AJobThatHangsIsShownWithItsCulprit) {
  const auto job = start(stay_away);
  const json value = look_until(job->pid(0), [](const json& v) { return v["moves"] == false; });
  ASSERT_TRUE(value.is_object());
  ASSERT_EQ(value["ranks"].size(), 3U);
  for (int rank = 0; rank < 3; ++rank) {
    const json& one = value["ranks"][static_cast<std::size_t>(rank)];
    EXPECT_EQ(one["rank"], rank);
    EXPECT_EQ(one["pid"], job->pid(0));
    const json& group = one["groups"][0];
    EXPECT_EQ(group["ranks"], json({0, 1, 2}));
    EXPECT_EQ(group["called"], rank == 1 ? 1 : 2);
    EXPECT_EQ(group["done"], 1);
    EXPECT_EQ(group["behind"], rank == 1 ? 1 : 0);
    EXPECT_EQ(group["open"], rank != 1);
    EXPECT_EQ(group["op"], "barrier");
  }
  EXPECT_EQ(value["fault_kind"], "rank_not_entered");
  EXPECT_FALSE(value["graph"].empty());
  for (const json& edge : value["graph"]) EXPECT_EQ(edge["to"], "1");
  const auto screen = attach(concat("--pid ", job->pid(0)));
  EXPECT_NE(screen.output.find("Verdict:  rank_not_entered"), std::string::npos) << screen.output;
  EXPECT_NE(screen.output.find("3 of 3 ranks on "), std::string::npos) << screen.output;
}

TEST_F(DoctorAttachTest, AnIdleJobIsIdle) {
  const auto job = start(idle);
  const json value = look_until(job->pid(0), [](const json& v) { return v["moves"] == false; });
  ASSERT_EQ(value["ranks"].size(), 3U);
  for (const json& rank : value["ranks"]) {
    EXPECT_EQ(rank["groups"][0]["called"], 1);
    EXPECT_EQ(rank["groups"][0]["done"], 1);
  }
  EXPECT_TRUE(value["graph"].empty());
  const auto screen = attach(concat("--pid ", job->pid(0)));
  EXPECT_NE(screen.output.find("State:    idle: "), std::string::npos) << screen.output;
}

TEST_F(DoctorAttachTest, OneStuckGroupOfABusyJobIsShownFirst) {
  const auto job = start(hang_in_one_group);
  const json value = look_until(job->pid(0), [](const json& v) { return !v["standing"].empty(); });
  ASSERT_EQ(value["standing"].size(), 1U) << value;
  EXPECT_TRUE(value["moves"].get<bool>());
  EXPECT_EQ(value["ranks"][2]["groups"][0]["id"], value["standing"][0]);
  EXPECT_EQ(value["fault_kind"], "rank_not_entered") << value;
  ASSERT_FALSE(value["graph"].empty());
  for (const json& edge : value["graph"]) EXPECT_EQ(edge["from"], "2");
  const auto screen = attach(concat("--pid ", job->pid(0))).output;
  EXPECT_NE(screen.find("it moves, but not in group "), std::string::npos) << screen;
  EXPECT_LT(screen.find(": ranks 0-2\n"), screen.find(": ranks 0, 1\n")) << screen;
}

TEST_F(DoctorAttachTest, WatchRefreshesUntilItIsInterrupted) {
  const auto job = start(stay_away);
  for (const char* seconds : {" 0.5", "=1", ""}) {
    const auto run = test::run_program(concat("env RINGCOMM_RECORD_DIR=", folder_.path().string(),
                                              " timeout --preserve-status -s INT 5 ", kDoctor,
                                              " attach --json --pid ", job->pid(0), " --watch", seconds));
    EXPECT_EQ(run.exit_code, 0) << seconds << run.output;
    std::istringstream lines(run.output);
    int looks = 0;
    for (std::string line; std::getline(lines, line); ++looks)
      EXPECT_TRUE(json::parse(line, nullptr, false).is_object()) << line;
    EXPECT_GE(looks, 2) << seconds << run.output;
  }
  EXPECT_EQ(attach("--watch soon").exit_code, 64);
  EXPECT_EQ(attach("--watch 0").exit_code, 64);
}

TEST_F(DoctorAttachTest, SeveralJobsAreListed) {
  const auto jobs = start(idle, 2);
  const auto run = attach("");
  EXPECT_EQ(run.exit_code, 64) << run.output;
  for (const int job : {0, 1})
    EXPECT_NE(run.output.find(concat("  --pid ", jobs->pid(job), "  ")), std::string::npos) << run.output;
  EXPECT_NE(run.output.find("choose one"), std::string::npos) << run.output;
}

TEST_F(DoctorAttachTest, ProcessesThatAreNobodysJobAreSaidSo) {
  const pid_t gone = ::fork();
  if (gone == 0) ::_exit(0);
  ::waitpid(gone, nullptr, 0);
  const auto absent = attach(concat("--pid ", gone));
  EXPECT_EQ(absent.exit_code, 3);
  EXPECT_NE(absent.output.find(concat("there is no process ", gone, " on this host")), std::string::npos)
      << absent.output;
  const auto own = attach(concat("--pid ", ::getpid()));
  EXPECT_EQ(own.exit_code, 3);
  EXPECT_NE(own.output.find(concat("has a flight record here for process ", ::getpid())), std::string::npos)
      << own.output;
}

/// Another user's: for root a child that becomes nobody, else the first process of the system.
TEST_F(DoctorAttachTest, AnothersProcessIsRefusedWithItsOwner) {
  constexpr uid_t kNobody = 65534;
  pid_t child = 0;
  if (::geteuid() == 0) {
    child = ::fork();
    if (child == 0) {
      if (::setuid(kNobody) != 0) ::_exit(1);
      ::sleep(60);
      ::_exit(0);
    }
  }
  const pid_t pid = child != 0 ? child : 1;
  struct stat facts {};
  for (int i = 0; i < 100 && facts.st_uid == ::geteuid(); ++i) {
    if (i > 0) std::this_thread::sleep_for(50ms);
    ASSERT_EQ(::stat(concat("/proc/", pid).c_str(), &facts), 0);
  }
  const auto run = attach(concat("--pid ", pid));
  if (child != 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_NE(run.output.find(concat("process ", pid, " belongs to ")), std::string::npos) << run.output;
}

/// 4711 is the pid of a job that hangs.
TEST_F(DoctorAttachTest, ExamplesOfTheHelpRun) {
  const auto job = start(stay_away);
  std::istringstream help(attach("--help").output);
  int examples = 0;
  for (std::string line; std::getline(help, line);) {
    const std::string prefix = "  ringcomm-doctor attach";
    if (!line.starts_with(prefix)) continue;
    ++examples;
    std::string arguments = line.substr(prefix.size());
    if (const std::size_t at = arguments.find("4711"); at != std::string::npos)
      arguments.replace(at, 4, concat(job->pid(0)));
    const auto run =
        test::run_program(concat("env RINGCOMM_RECORD_DIR=", folder_.path().string(),
                                 " timeout --preserve-status -s INT 3 ", kDoctor, " attach", arguments));
    const bool may_be_several = arguments.empty();  // another test's job may run beside it
    EXPECT_TRUE(run.exit_code == 0 || (may_be_several && run.exit_code == 64)) << line << run.output;
  }
  EXPECT_EQ(examples, 4);
}

}  // namespace
}  // namespace ringcomm::doctor
