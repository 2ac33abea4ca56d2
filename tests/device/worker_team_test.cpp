// SPDX-License-Identifier: Apache-2.0
// The oracle is a count for each index: exactly one call each, under a worker number that nobody else has at
// that moment.
#include "ringcomm/device/worker_team.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "device/fork_util.hpp"

namespace ringcomm {
namespace {

std::unique_ptr<WorkerTeam> team_of(int workers, const Placement& placement = {}) {
  auto team = WorkerTeam::create(workers, placement);
  EXPECT_TRUE(team.is_ok()) << team.status().to_string();
  return std::move(team).value();
}

/// A place that `parties` workers must reach at the same time, each under its own number.
class Meeting {
 public:
  explicit Meeting(int parties) : parties_(parties) {}
  bool meet() {
    std::unique_lock lock(mutex_);
    ++here_;
    changed_.notify_all();
    return changed_.wait_for(lock, std::chrono::seconds(30), [this] { return here_ >= parties_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int parties_, here_ = 0;
};

class WorkerTeamSizeTest : public testing::TestWithParam<int> {};

TEST_P(WorkerTeamSizeTest, CallsEveryIndexOnceUnderADistinctWorker) {
  const auto team = team_of(GetParam());
  ASSERT_EQ(team->size(), GetParam());
  std::vector<int> busy(static_cast<std::size_t>(GetParam()));  // plain: a race is a doubled worker number
  for (const std::int64_t count : {0, 1, 2, 3, 7, 1000}) {
    std::vector<int> calls(static_cast<std::size_t>(count));
    team->for_each(count, [&](std::int64_t index, int worker) {
      ++calls[static_cast<std::size_t>(index)];
      EXPECT_EQ(++busy.at(static_cast<std::size_t>(worker)), 1);
      --busy[static_cast<std::size_t>(worker)];
    });
    EXPECT_EQ(calls, std::vector<int>(static_cast<std::size_t>(count), 1));
  }
}

TEST_P(WorkerTeamSizeTest, ManyShortRoundsNeverMixTheirBodies) {
  const auto team = team_of(GetParam());
  for (std::int64_t round = 0; round < 500; ++round) {
    std::atomic<std::int64_t> sum{0};
    team->for_each(5, [&sum, round](std::int64_t index, int) { sum += round * 10 + index; });
    ASSERT_EQ(sum, round * 50 + 10);
  }
}

TEST_P(WorkerTeamSizeTest, AllWorkersTakePart) {
  const int workers = GetParam();
  const auto team = team_of(workers);
  Meeting meeting(workers);
  std::atomic<int> met{0};
  team->for_each(workers, [&](std::int64_t, int) { met += meeting.meet() ? 1 : 0; });
  EXPECT_EQ(met, workers);
}

INSTANTIATE_TEST_SUITE_P(Sizes, WorkerTeamSizeTest, testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& size) { return "workers" + std::to_string(size.param); });

TEST(WorkerTeamTest, TheCallersWritesAreSeenAndTheWorkersComeBack) {
  const auto team = team_of(3);
  std::vector<std::int64_t> values(100), doubled(100);
  for (std::int64_t round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = round + static_cast<std::int64_t>(i);
    team->for_each(100, [&](std::int64_t i, int) {
      doubled[static_cast<std::size_t>(i)] = 2 * values[static_cast<std::size_t>(i)];
    });
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(doubled[i], 2 * values[i]);
  }
}

TEST(WorkerTeamTest, ATeamOfOneStartsNoThread) {
  const auto team = team_of(1);
  team->for_each(3, [caller = std::this_thread::get_id()](std::int64_t, int worker) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(worker, 0);
  });
}

TEST(WorkerTeamTest, RefusesSizesAndPlacesThatCannotBe) {
  for (const int workers : {0, -1, 1025}) {
    EXPECT_EQ(WorkerTeam::create(workers, {}).status().code(), StatusCode::invalid_argument);
  }
  EXPECT_EQ(WorkerTeam::create(3, {.cpus = {60000}, .memory_node = -1}).status().code(),
            StatusCode::not_available);
}

TEST(WorkerTeamTest, WorkersAreBoundAndTheCallerIsNot) {
  cpu_set_t mine;
  ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &mine)) ++cpu;
  const auto team = team_of(2, {.cpus = {cpu}, .memory_node = -1});
  Meeting meeting(2);
  team->for_each(2, [&](std::int64_t, int worker) {
    EXPECT_TRUE(meeting.meet());
    cpu_set_t set;
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    EXPECT_EQ(CPU_COUNT(&set), worker == 0 ? CPU_COUNT(&mine) : 1);
    EXPECT_TRUE(worker == 0 || CPU_ISSET(cpu, &set));
  });
}

TEST(WorkerTeamTest, WhatABodyThrowsComesOutAndTheTeamGoesOn) {
  const auto team = team_of(3);
  for (const std::int64_t bad : {0, 9}) {
    const auto throw_at = [bad](std::int64_t index, int) {
      if (index == bad) throw std::runtime_error("bad index");
    };
    EXPECT_THROW(team->for_each(10, throw_at), std::runtime_error);
  }
  std::atomic<int> calls{0};
  team->for_each(10, [&](std::int64_t, int) { ++calls; });
  EXPECT_EQ(calls, 10);
}

TEST(WorkerTeamTest, InAForkedChildTheCallerDoesAllAndTheTeamCanEnd) {
  auto team = team_of(3);
  EXPECT_EQ(exit_code_of_child([&] {
              int calls = 0;
              team->for_each(10, [&](std::int64_t, int) { ++calls; });
              team.reset();
              return calls == 10 ? 0 : 1;
            }),
            0);
  std::atomic<int> calls{0};
  team->for_each(10, [&](std::int64_t, int) { ++calls; });
  EXPECT_EQ(calls, 10);
}

}  // namespace
}  // namespace ringcomm
