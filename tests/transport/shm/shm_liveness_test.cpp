// SPDX-License-Identifier: Apache-2.0
// Children that the test kills are the oracle of who has ended.
#include "transport/shm/liveness.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "support/process_ranks.hpp"

namespace ringcomm::transport::shm {
namespace {

using namespace std::chrono_literals;

std::string wait_for_end(int, const test::RankVoice&) {
  ::pause();
  return {};
}

TEST(ShmLivenessTest, FindsTheRankWhoseProcessEndedUntilItIsForgotten) {
  test::ProcessRanks children(3, wait_for_end);
  auto liveness = Liveness::create();
  ASSERT_TRUE(liveness.is_ok()) << liveness.status().to_string();
  for (int rank = 0; rank < 3; ++rank) ASSERT_TRUE(liveness->watch(rank, children.pid(rank)).is_ok());
  EXPECT_EQ(liveness->find_ended(), std::nullopt);
  children.send_signal(1, SIGSTOP);
  EXPECT_EQ(liveness->find_ended(), std::nullopt) << "a stopped process has not ended";
  children.send_signal(1, SIGKILL);
  children.wait(1, 5s);
  EXPECT_EQ(liveness->find_ended(), 1);
  EXPECT_EQ(liveness->find_ended(), 1);
  liveness->forget(1);
  EXPECT_EQ(liveness->find_ended(), std::nullopt);
  children.send_signal(0, SIGKILL);
  children.wait(0, 5s);
  EXPECT_EQ(liveness->find_ended(), 0);
}

TEST(ShmLivenessTest, ProcessThatHasEndedAlreadyIsLost) {
  test::ProcessRanks child(1, [](int, const test::RankVoice&) { return std::string(); });
  child.wait(0, 5s);
  auto liveness = Liveness::create();
  const Status status = liveness->watch(4, child.pid(0));
  EXPECT_EQ(status.code(), StatusCode::peer_lost);
  EXPECT_NE(status.message().find("rank 4 (pid " + std::to_string(child.pid(0)) + ")"),
            std::string_view::npos);
}

TEST(ShmLivenessTest, ThreadsOfThisProcessAreNotWatched) {
  const int before = test::open_descriptors();
  auto liveness = Liveness::create();
  ASSERT_TRUE(liveness->watch(0, ::getpid()).is_ok());
  EXPECT_EQ(test::open_descriptors(), before + 1);
  EXPECT_EQ(liveness->find_ended(), std::nullopt);
}

}  // namespace
}  // namespace ringcomm::transport::shm
