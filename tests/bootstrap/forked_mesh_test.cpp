// SPDX-License-Identifier: Apache-2.0
// Ranks are forked processes that check by themselves; the parent checks process ids and who is named.
#include <signal.h>
#include <unistd.h>

#include "bootstrap/group_threads.hpp"
#include "support/process_ranks.hpp"

namespace ringcomm {
namespace {

using test::ProcessRanks;
using test::RankVoice;
using namespace std::chrono_literals;

class ForkedMeshTest : public ::testing::TestWithParam<int> {};

TEST_P(ForkedMeshTest, ProcessesMeetAndKnowEachOthersRealProcessIds) {
  const int ranks = GetParam();
  auto mesh = ForkedMesh::create(ranks);
  ASSERT_TRUE(mesh.is_ok());
  ProcessRanks processes(ranks, [&](int rank, const RankVoice&) -> std::string {
    auto group = mesh->take(rank);
    if (!group.is_ok()) return group.status().to_string();
    const std::string pid = std::to_string(::getpid());
    auto all = group.value()->all_gather(test::bytes_of(pid), Deadline::after(10s));
    if (!all.is_ok()) return all.status().to_string();
    for (int peer = 0; peer < ranks; ++peer) {
      const auto vouched = group.value()->peer_pid(peer);
      if (!vouched.is_ok()) return vouched.status().to_string();
      if (test::bytes_of(std::to_string(vouched.value())) != all.value()[static_cast<std::size_t>(peer)]) {
        return "wrong process id of rank " + std::to_string(peer);
      }
    }
    return {};
  });
  EXPECT_EQ(test::failures_of(processes.wait_all(20s)), "");
}

INSTANTIATE_TEST_SUITE_P(Ranks, ForkedMeshTest, ::testing::Values(1, 2, 3, 5, 8),
                         [](const auto& tested) { return "ranks" + std::to_string(tested.param); });

TEST(ForkedMeshFailureTest, KilledRankIsNamedToAllOthersLongBeforeTheDeadline) {
  const int ranks = 4;
  auto mesh = ForkedMesh::create(ranks);
  ASSERT_TRUE(mesh.is_ok());
  ProcessRanks processes(ranks, [&](int rank, const RankVoice& voice) -> std::string {
    auto group = mesh->take(rank);
    if (!group.is_ok() || !group.value()->all_gather({}, Deadline::after(10s)).is_ok()) return "no group";
    voice.say("met");
    if (rank == 0) ::pause();
    return group.value()->all_gather({}, Deadline::after(60s)).status().to_string();
  });
  // The parent keeps the mesh on purpose: its copies of the sockets must not hide the death.
  for (int rank = 0; rank < ranks; ++rank) ASSERT_TRUE(processes.has_said(rank, "met", 10s));
  processes.send_signal(0, SIGKILL);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::string message = processes.wait(rank, 5s).message;
    EXPECT_EQ(message.find("peer_lost: "), 0U) << message;
    EXPECT_NE(message.find("rank 0 (pid " + std::to_string(processes.pid(0)) + ") died"), std::string::npos)
        << message;
  }
}

TEST(ForkedMeshTakeTest, RefusesRanksThatAreNotThereOrTaken) {
  auto mesh = ForkedMesh::create(2);
  ASSERT_TRUE(mesh.is_ok());
  EXPECT_EQ(mesh->take(2).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(mesh->take(-1).status().code(), StatusCode::invalid_argument);
  EXPECT_TRUE(mesh->take(1).is_ok());
  EXPECT_EQ(mesh->take(1).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(ForkedMesh::create(0).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(ForkedMesh::create(-3).status().code(), StatusCode::invalid_argument);
}

TEST(ForkedMeshTakeTest, ChildKeepsNoSocketOfOtherRanks) {
  const int before = test::open_descriptors();
  {
    auto mesh = ForkedMesh::create(8);
    ASSERT_TRUE(mesh.is_ok());
    EXPECT_EQ(test::open_descriptors(), before + 8 * 7);
    ProcessRanks child(1, [&](int, const RankVoice&) -> std::string {
      auto group = mesh->take(7);
      if (!group.is_ok()) return group.status().to_string();
      // 7 sockets, and the pipe of this test.
      const int kept = test::open_descriptors() - before;
      return kept == 7 + 1 ? "" : "keeps " + std::to_string(kept);
    });
    EXPECT_EQ(test::failures_of(child.wait_all(10s)), "");
  }
  EXPECT_EQ(test::open_descriptors(), before);
}

}  // namespace
}  // namespace ringcomm
