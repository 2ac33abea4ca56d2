// SPDX-License-Identifier: Apache-2.0
// Ranks that never come, die in the middle of a rotation or stand still: the others name them, a dead one
// long before the deadline and a silent one at it, and nothing is left. Oracle: golden messages.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/try.hpp"
#include "faults/fault_ranks.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/core/text.hpp"
#include "support/temp_dir.hpp"

namespace ringcomm {
namespace {

using namespace test;
using namespace std::chrono_literals;

/// Twenty times what the library needs when the machine is idle.
constexpr std::int64_t kReleasedMs = 1000;

Status rotate_for_ever(Communicator& comm, RotationChoice mode, const std::function<void(int, int)>& at_step,
                       const BlockShape& shape = {}) {
  RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm, shape));
  RotationOptions options;
  options.mode = mode;
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v, options));
  for (int round = 0;; ++round) {
    RINGCOMM_TRY(rotate_checked(comm, block, rotation, round, [&](int step) { at_step(round, step); }));
  }
}

/// Processes connected by a mesh that rotate for ever; they say "rotating" after some rounds.
class Rotating {
 public:
  Rotating(int ranks, RotationChoice mode, std::chrono::milliseconds deadline,
           const std::function<void(Communicator&, int round, int step)>& at_step) {
    auto made = ForkedMesh::create(ranks);
    check(made.status());
    mesh_.emplace(std::move(made).value());
    processes_.emplace(ranks, [&, deadline](int rank, const RankVoice& voice) {
      return run_and_report(
          [&]() -> Result<Communicator> {
            RINGCOMM_TRY_ASSIGN(auto bootstrap, mesh_->take(rank));
            return Communicator::create(std::move(bootstrap), patient(deadline));
          },
          [&](Communicator& comm) {
            return rotate_for_ever(comm, mode, [&](int round, int step) {
              if (round == 5 && step == 0) voice.say("rotating");
              at_step(comm, round, step);
            });
          });
    });
    mesh_.reset();
  }
  ProcessRanks& operator*() { return *processes_; }
  ProcessRanks* operator->() { return &*processes_; }

 private:
  std::optional<ForkedMesh> mesh_;
  std::optional<ProcessRanks> processes_;
};

struct Death {
  int ranks;
  int culprit;
  RotationChoice mode;
};
class KilledRankTest : public testing::TestWithParam<Death> {};

TEST_P(KilledRankTest, AllOthersNameItWithinASecond) {
  const Death death = GetParam();
  const LeftBehind before;
  {
    Rotating ranks(death.ranks, death.mode, 60s, [](Communicator&, int, int) {});
    for (int rank = 0; rank < death.ranks; ++rank) ASSERT_TRUE(ranks->has_said(rank, "rotating", 30s));
    ranks->send_signal(death.culprit, SIGKILL);
    const std::int64_t killed_ns = now_ns();
    for (int rank = 0; rank < death.ranks; ++rank) {
      if (rank == death.culprit) continue;
      const RankOutcome got = parse_report(ranks->wait(rank, 30s));
      EXPECT_LT((now_ns() - killed_ns) / 1'000'000, kReleasedMs) << "rank " << rank;
      EXPECT_EQ(
          got.said,
          concat("peer_lost: rank ", death.culprit,
                 " (pid P) died: its process ended without leaving the group, while rank R waited in OP"))
          << "rank " << rank;
      EXPECT_EQ(got.health, got.said);
      EXPECT_EQ(got.left, "") << "rank " << rank;
    }
    ranks->wait(death.culprit, 5s);
  }
  EXPECT_EQ(before.differences(), "");
}

INSTANTIATE_TEST_SUITE_P(Ranks, KilledRankTest,
                         testing::Values(Death{2, 1, RotationChoice::direct},
                                         Death{3, 0, RotationChoice::direct},
                                         Death{4, 0, RotationChoice::relay},
                                         Death{4, 2, RotationChoice::relay}),
                         [](const auto& tested) {
                           return concat(tested.param.mode == RotationChoice::direct ? "direct" : "relay",
                                         "_ranks", tested.param.ranks, "_killed", tested.param.culprit);
                         });

class RunProcessesTest : public testing::TestWithParam<int> {};

// run_processes gives one answer for all: who was killed, before what the others say about it.
TEST_P(RunProcessesTest, ARankKilledInTheMiddleOfARotationIsNamed) {
  const LeftBehind before;
  const std::int64_t began_ns = now_ns();
  const Status status = run_processes(
      3,
      [&](Communicator& comm) {
        return rotate_for_ever(comm, RotationChoice::automatic, [&](int round, int step) {
          if (comm.rank() == GetParam() && round == 3 && step == 1) raise(SIGKILL);
        });
      },
      patient());
  EXPECT_LT((now_ns() - began_ns) / 1'000'000, 5 * kReleasedMs);
  const std::string named = concat("peer_lost: rank ", GetParam(), " was killed by signal 9");
  // A rank that was quicker than the parent tells the same with its own words.
  const std::string said = golden(status.to_string());
  EXPECT_TRUE(said == named ||
              (said.starts_with("peer_lost: rank ") &&
               said.ends_with(concat(
                   ": rank ", GetParam(),
                   " (pid P) died: its process ended without leaving the group, while rank R waited in OP"))))
      << said;
  EXPECT_EQ(before.differences(), "");
}

INSTANTIATE_TEST_SUITE_P(Killed, RunProcessesTest, testing::Values(0, 2), testing::PrintToStringParamName());

TEST(LostRankTest, ARankThatIsKilledUnseenByTheOthersIsNamed) {
  const LeftBehind before;
  const Status status = run_processes(
      2,
      [](Communicator& comm) -> Status {
        if (comm.rank() == 1) raise(SIGKILL);
        return {};
      },
      patient());
  EXPECT_EQ(status.to_string(), "peer_lost: rank 1 was killed by signal 9");
  EXPECT_EQ(before.differences(), "");
}

TEST(LostRankTest, ARankThatExitsInItsBodyIsNamed) {
  const LeftBehind before;
  const Status status = run_processes(
      2,
      [](Communicator& comm) -> Status {
        if (comm.rank() == 1) _exit(7);
        return {};
      },
      patient());
  EXPECT_EQ(status.to_string(), "peer_lost: rank 1: exited with code 7 inside its body");
  EXPECT_EQ(before.differences(), "");
}

// A rank with nothing to do creates its communicator and leaves; the others' creation must not depend on who
// is quick.
TEST(LostRankTest, ARankThatLeavesAtOnceDoesNotSpoilTheOthersCreation) {
  for (int round = 0; round < 20; ++round) {
    const Status status = run_processes(
        2,
        [&](Communicator& comm) -> Status {
          if (comm.rank() == 1) return comm.health();
          return {};
        },
        patient());
    ASSERT_EQ(status.to_string(), "ok") << "round " << round;
  }
}

TEST(LostRankTest, AThreadThatReturnsEarlyIsNamed) {
  const LeftBehind before;
  const auto all = outcomes(
      Medium::threads, 3,
      [](Communicator& comm) -> Status {
        if (comm.rank() == 1) return {};
        return rotate_for_ever(comm, RotationChoice::automatic, [](int, int) {});
      },
      patient());
  for (const int rank : {0, 2}) {
    const std::string& said = all[static_cast<std::size_t>(rank)].said;
    EXPECT_TRUE(said.starts_with("peer_lost: rank 1 has left (its communicator was destroyed) while rank "))
        << said;
    EXPECT_LT(all[static_cast<std::size_t>(rank)].ms, 2 * kReleasedMs);
  }
  EXPECT_EQ(before.differences(), "");
}

class SilentRankTest : public testing::TestWithParam<Medium> {};
INSTANTIATE_TEST_SUITE_P(Media, SilentRankTest, testing::Values(Medium::threads, Medium::processes),
                         [](const auto& tested) { return name_of(tested.param); });

TEST_P(SilentRankTest, ARankThatNeverComesToABarrierIsNamedAtTheDeadline) {
  const LeftBehind before;
  const auto all = outcomes(
      GetParam(), 3,
      [](Communicator& comm) {
        CallOptions options;
        options.deadline = 300ms;
        // Long after the others have given up; they, whoever speaks first, are inside long before that.
        if (comm.rank() == 2) std::this_thread::sleep_for(900ms);
        return barrier(comm.channel(), options).status();
      },
      patient());
  for (const RankOutcome& rank : all) {
    EXPECT_TRUE(rank.said ==
                    "timeout: rank 2 did not arrive in barrier #2 within T ms (it is still in barrier #1; "
                    "arrived: rank 0)" ||
                rank.said ==
                    "timeout: rank 2 did not arrive in barrier #2 within T ms (it is still in barrier #1; "
                    "arrived: rank 1)")
        << rank.said;
    EXPECT_GE(rank.ms, 290);
    EXPECT_LT(rank.ms, 300 + 2 * kReleasedMs);
    EXPECT_EQ(rank.health, rank.said);
    EXPECT_EQ(rank.left, "");
  }
  EXPECT_EQ(before.differences(), "");
}

// Rank 1 stops inside step 1 and keeps the block that it was given.
class StoppedRankTest : public testing::TestWithParam<int> {};

TEST_P(StoppedRankTest, IsNamedAtTheDeadlineAndThenKilled) {
  const int culprit = GetParam();
  const LeftBehind before;
  {
    Rotating ranks(3, RotationChoice::direct, 1000ms, [&](Communicator& comm, int round, int step) {
      if (comm.rank() == culprit && round == 6 && step == 1) raise(SIGSTOP);
    });
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == culprit) continue;
      const RankOutcome got = parse_report(ranks->wait(rank, 30s));
      std::vector<std::string> possible;
      for (int other = 0; other < 3; ++other) {
        for (const int step : {0, 1, 2}) {
          possible.push_back(concat("timeout: rank ", culprit, " did not release the block of rank ", other,
                                    " in ring_rotate #8 step ", step,
                                    " within T ms (it has entered ring_rotate #8)"));
        }
      }
      EXPECT_EQ(std::ranges::count(possible, got.said), 1) << "rank " << rank << " said: " << got.said;
      EXPECT_EQ(got.health, got.said);
      EXPECT_EQ(got.left, "");
    }
    ranks->send_signal(culprit, SIGKILL);
    EXPECT_EQ(ranks->wait(culprit, 5s).signal, SIGKILL);
  }
  EXPECT_EQ(before.differences(), "");
}

INSTANTIATE_TEST_SUITE_P(Stopped, StoppedRankTest, testing::Values(0, 1), testing::PrintToStringParamName());

// Launched ranks: the variables that a person sets.
Result<Communicator> launched(int rank, int size, const std::string& directory,
                              std::chrono::milliseconds deadline) {
  setenv("RINGCOMM_RANK", std::to_string(rank).c_str(), 1);
  setenv("RINGCOMM_SIZE", std::to_string(size).c_str(), 1);
  setenv("RINGCOMM_STORE", ("file://" + directory).c_str(), 1);
  return Communicator::from_environment(patient(deadline));
}

const Body kNothing = [](Communicator&) { return Status(); };

TEST(StoreTest, ARankThatNeverComesIsNamedAtTheDeadlineAndNoFileStays) {
  const LeftBehind before;
  const TempDir temp;
  const std::string directory = (temp.path() / "store").string();
  {
    ProcessRanks processes(2, [&](int rank, const RankVoice&) {
      return run_and_report([&] { return launched(rank, 3, directory, 1000ms); }, kNothing);
    });
    for (const RankReport& report : processes.wait_all(30s)) {
      const RankOutcome got = parse_report(report);
      EXPECT_EQ(golden(got.said, directory),
                "timeout: rank 2 of 3 has not come to file://DIR within T ms (ranks 0, 1 are there)");
      EXPECT_EQ(got.left, "");
    }
  }
  EXPECT_EQ(temp.names(), std::vector<std::string>());
  EXPECT_EQ(before.differences(), "");
}

TEST(StoreTest, ARankTakenTwiceIsRefusedAndTheOthersMeet) {
  const LeftBehind before;
  const TempDir temp;
  const std::string directory = (temp.path() / "store").string();
  {
    ProcessRanks first(1, [&](int, const RankVoice& voice) {
      voice.say("here");
      return run_and_report([&] { return launched(0, 2, directory, 20s); }, kNothing);
    });
    // Its entry is there: only now comes the second process of the same rank, and at last rank 1.
    for (int i = 0; i < 2000 && temp.names().size() < 3; ++i) std::this_thread::sleep_for(5ms);
    ProcessRanks second(1, [&](int, const RankVoice&) {
      return run_and_report([&] { return launched(0, 2, directory, 20s); }, kNothing);
    });
    EXPECT_EQ(golden(parse_report(second.wait(0, 10s)).said, directory),
              "invalid_argument: rank 0 of file://DIR is taken by process P as well as by process P. Do two "
              "of them have "
              "the same RINGCOMM_RANK?");
    ProcessRanks last(1, [&](int, const RankVoice&) {
      return run_and_report([&] { return launched(1, 2, directory, 20s); }, kNothing);
    });
    EXPECT_EQ(parse_report(last.wait(0, 20s)).said, "ok");
    EXPECT_EQ(parse_report(first.wait(0, 20s)).said, "ok");
  }
  EXPECT_EQ(temp.names(), std::vector<std::string>());
  EXPECT_EQ(before.differences(), "");
}

TEST(StoreTest, SizesThatDifferAreNamedToBoth) {
  const TempDir temp;
  const std::string directory = (temp.path() / "store").string();
  ProcessRanks processes(2, [&](int rank, const RankVoice&) {
    return run_and_report([&] { return launched(rank, 2 + rank, directory, 10s); }, kNothing);
  });
  for (const RankReport& report : processes.wait_all(30s)) {
    const std::string said = golden(parse_report(report).said, directory);
    EXPECT_TRUE(said ==
                    "invalid_argument: world size differs at file://DIR: rank 0 (pid P) says 2, rank 1 (pid "
                    "P) says 3" ||
                said ==
                    "invalid_argument: world size differs at file://DIR: rank 1 (pid P) says 3, rank 0 (pid "
                    "P) says 2")
        << said;
  }
  EXPECT_EQ(temp.names(), std::vector<std::string>());
}

struct WrongLaunch {
  std::vector<std::pair<const char*, const char*>> variables;
  std::string message;
};

TEST(StoreTest, WrongVariablesAreNamed) {
  const std::vector<WrongLaunch> table = {
      {{{"RINGCOMM_RANK", "0"}},
       "invalid_argument: RINGCOMM_SIZE is not set although RINGCOMM_RANK is (a launched rank needs both)"},
      {{{"RINGCOMM_RANK", "4"}, {"RINGCOMM_SIZE", "4"}, {"RINGCOMM_STORE", "file:///tmp/x"}},
       "invalid_argument: RINGCOMM_RANK=4 contradicts RINGCOMM_SIZE=4 (ranks count from 0 to size - 1)"},
      {{{"RINGCOMM_RANK", "-1"}, {"RINGCOMM_SIZE", "4"}, {"RINGCOMM_STORE", "file:///tmp/x"}},
       "invalid_argument: RINGCOMM_RANK=-1 is no number of 0 or more"},
      {{{"RINGCOMM_RANK", "0"}, {"RINGCOMM_SIZE", "0"}, {"RINGCOMM_STORE", "file:///tmp/x"}},
       "invalid_argument: RINGCOMM_SIZE=0 is no number of 1 or more"},
      {{{"RINGCOMM_RANK", "0"}, {"RINGCOMM_SIZE", "2"}, {"RINGCOMM_STORE", "ftp://host:1"}},
       "invalid_argument: RINGCOMM_STORE=ftp://host:1 is no place to meet (file:///absolute/directory, "
       "tcp://host:port or id: and the digits of a unique id are)"},
  };
  for (const WrongLaunch& wrong : table) {
    ProcessRanks process(1, [&](int, const RankVoice&) {
      for (const auto& [name, value] : wrong.variables) setenv(name, value, 1);
      return run_and_report([] { return Communicator::from_environment(); }, kNothing);
    });
    EXPECT_EQ(parse_report(process.wait(0, 20s)).said, wrong.message);
  }
}

}  // namespace
}  // namespace ringcomm
