// SPDX-License-Identifier: Apache-2.0
// Counts what a wait does instead of timing it.
#include "transport/common/wait.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/limits.hpp"
#include "transport/common/futex.hpp"

namespace ringcomm::transport {
namespace {

struct Calls {
  int looks = 0;
  int checks = 0;
  int sleeps = 0;
};

Status wait_for_look(int look, const WaitPolicy& policy, Calls& calls, int failing_check = 0) {
  return wait_until(
      policy, [&] { return ++calls.looks >= look; },
      [&] { return ++calls.checks == failing_check ? Status::timeout("enough") : Status(); },
      [&] { ++calls.sleeps; });
}

TEST(WaitTest, SpinsThenYieldsThenSleepsAndLooksAround) {
  const WaitPolicy policy{.pauses = 10, .yields = 2 * kYieldsPerCheck};
  Calls calls;
  EXPECT_TRUE(wait_for_look(10, policy, calls).is_ok());
  EXPECT_EQ(calls.checks, 0);
  calls = {};
  EXPECT_TRUE(wait_for_look(10 + 2 * kYieldsPerCheck, policy, calls).is_ok());
  EXPECT_EQ(calls.checks, 1);
  EXPECT_EQ(calls.sleeps, 0);
  calls = {};
  EXPECT_TRUE(wait_for_look(10 + 2 * kYieldsPerCheck + 6, policy, calls).is_ok());
  EXPECT_EQ(calls.sleeps, 5);
  EXPECT_EQ(calls.checks, 7);
}

TEST(WaitTest, AFailedCheckEndsTheWaitInEveryPhase) {
  const WaitPolicy policy{.pauses = 10, .yields = 2 * kYieldsPerCheck};
  for (const int failing_check : {1, 2, 3, 4}) {
    Calls calls;
    EXPECT_EQ(wait_for_look(1'000'000, policy, calls, failing_check).code(), StatusCode::timeout);
    EXPECT_EQ(calls.checks, failing_check);
  }
}

TEST(WaitTest, AutomaticFollowsRanksAgainstCpus) {
  const int cpus = read_limits().usable_cpus();
  EXPECT_EQ(wait_policy(WaitStyle::automatic, cpus).pauses, 1000);
  EXPECT_EQ(wait_policy(WaitStyle::automatic, cpus).yields, 0);
  EXPECT_LE(wait_policy(WaitStyle::automatic, cpus + 1).pauses, 50);
  EXPECT_GT(wait_policy(WaitStyle::automatic, cpus + 1).yields, 100);
  EXPECT_EQ(wait_policy(WaitStyle::own_core, cpus + 1).pauses, 1000);
  EXPECT_LE(wait_policy(WaitStyle::oversubscribed, 1).pauses, 50);
}

TEST(FutexTest, SleepsNoLongerThanAskedAndWakesWhenCalled) {
  for (const FutexScope scope : {FutexScope::threads, FutexScope::processes}) {
    std::atomic<std::uint32_t> word{5};
    futex_wait(word, 4, 60'000'000'000, scope);  // another value: returns at once
    const std::int64_t started_ns = now_ns();
    futex_wait(word, 5, 20'000'000, scope);
    EXPECT_GE(now_ns() - started_ns, 15'000'000);
    std::thread waker([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      word.store(6);
      futex_wake_all(word, scope);
    });
    while (word.load() == 5)
      futex_wait(word, 5, 60'000'000'000, scope);  // the test's time limit catches a lost wake
    waker.join();
  }
}

}  // namespace
}  // namespace ringcomm::transport
