// SPDX-License-Identifier: Apache-2.0
// Ranks as forked processes over shm: what the caller hears when one fails, is killed or is interrupted, and
// that no child is left. This program starts no thread before it forks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "core/try.hpp"
#include "device/fork_util.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm {
namespace {

CommunicatorOptions options() {
  CommunicatorOptions made;
  made.deadline = std::chrono::seconds(60);
  made.arena_bytes = 1 << 16;
  return made;
}

void expect_no_children() {
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(RunProcessesTest, RanksMeetAndAllEnd) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    const Status status = run_processes(
        ranks,
        [ranks](Communicator& comm) -> Status {
          if (comm.size() != ranks) return Status::internal("size");
          for (int peer = 0; peer < ranks; ++peer) {
            if (comm.path_name(peer) != (peer == comm.rank() ? "self" : "shm"))
              return Status::internal("path");
          }
          return barrier(comm.channel()).status();
        },
        options());
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    expect_no_children();
  }
}

TEST(RunProcessesTest, AFailedRanksSentenceArrivesAndTheOthersAreReleased) {
  const std::int64_t started = now_ns();
  const Status status = run_processes(
      3,
      [](Communicator& comm) -> Status {
        if (comm.rank() == 1) return Status::not_found("the map");
        return barrier(comm.channel()).status();
      },
      options());
  EXPECT_EQ(status.code(), StatusCode::not_found);
  EXPECT_EQ(status.message(), "rank 1: the map");
  EXPECT_LT(now_ns() - started, 20'000'000'000);
  expect_no_children();
}

TEST(RunProcessesTest, AKilledRankIsNamedWithItsSignal) {
  for (const int victim : {0, 2}) {
    const std::int64_t started = now_ns();
    const Status status = run_processes(
        3,
        [victim](Communicator& comm) -> Status {
          RINGCOMM_TRY(barrier(comm.channel()).status());
          if (comm.rank() == victim) raise(SIGKILL);
          return barrier(comm.channel()).status();
        },
        options());
    EXPECT_EQ(status.code(), StatusCode::peer_lost);
    EXPECT_EQ(status.message(), concat("rank ", victim, " was killed by signal 9"));
    EXPECT_LT(now_ns() - started, 20'000'000'000);
    expect_no_children();
  }
}

TEST(RunProcessesTest, ABodyThatExitsOrThrowsIsAFailure) {
  Status status = run_processes(
      2,
      [](Communicator& comm) -> Status {
        if (comm.rank() == 1) _exit(7);
        return barrier(comm.channel()).status();
      },
      options());
  EXPECT_FALSE(status.is_ok());
  EXPECT_NE(status.message().find("rank 1"), std::string_view::npos) << status.to_string();
  status = run_processes(
      1, [](Communicator&) -> Status { throw 42; }, options());
  EXPECT_EQ(status.code(), StatusCode::internal) << status.to_string();
  expect_no_children();
}

TEST(RunProcessesTest, ImpossibleRanksAreRefused) {
  for (const int ranks : {0, -1, 100000})
    EXPECT_EQ(run_processes(ranks, [](Communicator&) { return Status(); }).code(),
              StatusCode::invalid_argument);
}

// The caller is a child of the test, interrupted while its own ranks sit in their bodies. They write their
// process ids to a pipe; when the caller has died of the signal none of them may be alive.
TEST(RunProcessesTest, AnInterruptedCallerKillsItsRanksAndThenDiesOfTheSignal) {
  for (const int number : {SIGINT, SIGTERM}) {
    int ids[2];
    ASSERT_EQ(pipe(ids), 0);
    const int status = status_of_child([&] {
      const Status ran = run_processes(
          2,
          [&](Communicator& comm) -> Status {
            const pid_t self = getpid();
            RINGCOMM_TRY(barrier(comm.channel()).status());
            if (write(ids[1], &self, sizeof self) != static_cast<ssize_t>(sizeof self))
              return Status::internal("pipe");
            RINGCOMM_TRY(barrier(comm.channel()).status());
            if (comm.rank() == 0) kill(getppid(), number);
            sleep(60);
            return {};
          },
          options());
      return ran.is_ok() ? 0 : 1;  // not reached: the signal's default action ends the caller
    });
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == number) << status;
    close(ids[1]);
    for (int rank = 0; rank < 2; ++rank) {
      pid_t pid = 0;
      ASSERT_EQ(read(ids[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
      EXPECT_EQ(kill(pid, 0), -1) << "rank " << rank << " is still alive";
    }
    close(ids[0]);
  }
}

TEST(RunProcessesTest, RanksDieWithAKilledCaller) {
  int ids[2];
  ASSERT_EQ(pipe(ids), 0);
  const int status = status_of_child([&] {
    static_cast<void>(run_processes(
                          2,
                          [&](Communicator& comm) -> Status {
                            RINGCOMM_TRY(barrier(comm.channel()).status());
                            if (comm.rank() == 0) kill(getppid(), SIGKILL);
                            sleep(60);
                            return {};
                          },
                          options())
                          .is_ok());
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  close(ids[1]);
  char nothing = 0;
  // End of file comes when the last holder of the write end is gone.
  EXPECT_EQ(read(ids[0], &nothing, 1), 0);
  close(ids[0]);
}

TEST(RunProcessesTest, ForkInAProcessWithALiveCommunicatorHarmsNeitherSide) {
  const Status status = run_processes(
      2,
      [](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(Window window, comm.allocate(4096));
        window.span<char>()[0] = 'a';
        const int code = exit_code_of_child([&] {
          const bool refuses = barrier(comm.channel()).status().code() == StatusCode::not_available &&
                               comm.health().message().find("forked child") != std::string_view::npos &&
                               comm.allocate(16).status().code() == StatusCode::not_available &&
                               comm.open_channel({0, 1}, 5).status().code() == StatusCode::not_available &&
                               comm.channel().allocate(16).status().code() == StatusCode::not_available;
          comm.abort("the child must not be heard");
          window.span<char>()[0] = 'b';  // windows stay shared memory
          { const Window gone = std::move(window); }
          { const Communicator dead = std::move(comm); }
          return refuses ? 0 : 1;
        });
        if (code != 0) return Status::internal("the child's copy did not refuse");
        if (window.span<char>()[0] != 'b') return Status::internal("the window is not shared");
        return barrier(comm.channel()).status();
      },
      options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
