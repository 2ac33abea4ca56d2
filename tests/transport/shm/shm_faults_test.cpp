// SPDX-License-Identifier: Apache-2.0
// Processes rotate blocks for ever until the test kills or stops one of them; the others must name it long
// before their deadline (killed) or at it (stopped), and leave no descriptor, mapping or thread behind.
#include <signal.h>
#include <unistd.h>

#include <functional>

#include "support/temp_dir.hpp"
#include "transport/shm/shm_harness.hpp"

namespace ringcomm {
namespace {

using conformance::describe_block;
using conformance::fill;
using conformance::holds;
using conformance::in_ms;
using conformance::Rank;
using test::ProcessRanks;
using test::RankVoice;
using namespace std::chrono_literals;

constexpr std::size_t kBytes = 4097;

/// One step of a ring: offers the own block to the next rank and reads the previous rank's in place.
Status rotate_once(Rank& me, int round, Deadline deadline) {
  const Descriptor d = describe_block(static_cast<std::uint32_t>(round) + 1, kBytes);
  fill(me.block(), kBytes, me.rank, round);
  me.announce(d);
  RemoteView view;
  Status status = me.go(
      {conformance::offer(me.next(), me.block(), d), conformance::take(me.previous(), view, d)}, deadline);
  if (!status.is_ok()) return status;
  if (!holds(view.data, kBytes, me.previous(), round)) return Status::internal("wrong bytes");
  return me.go({conformance::release(me.previous(), d), conformance::reclaim(me.next(), d)}, deadline);
}

/// What a rank's process must have open when everything is gone: what it had, and its pipe to the test.
std::string leftovers(int descriptors_before) {
  std::string text;
  if (const int open = test::open_descriptors() - 1; open != descriptors_before) {
    text += " LEFT descriptors " + std::to_string(open - descriptors_before);
  }
  if (const int maps = test::mappings_with("memfd:"); maps != 0)
    text += " LEFT mappings " + std::to_string(maps);
  if (const int threads = test::threads_of_this_process(); threads != 1) {
    text += " LEFT threads " + std::to_string(threads - 1);
  }
  return text;
}

/// Rotates until it fails; returns the failure, and what is left after the transport is gone.
std::string rotate_until_failure(const std::function<Result<std::unique_ptr<Bootstrap>>()>& meet, int rank,
                                 int ranks, const RankVoice& voice, int descriptors_before, int deadline_ms) {
  std::string failure;
  {
    auto group = meet();
    if (!group.is_ok()) return group.status().to_string();
    transport::shm::Transport transport;
    Status status = transport.connect(*group.value(), {}, in_ms(20'000));
    if (!status.is_ok()) return status.to_string();
    Rank me(rank, ranks, transport);
    for (int round = 0; status.is_ok(); ++round) {
      status = rotate_once(me, round, in_ms(deadline_ms));
      if (round == 20) voice.say("rotating");
    }
    failure = status.to_string();
    // Without rewriting the block, which a reader that was stopped may still look at.
    const Status again =
        me.go({conformance::offer(me.next(), me.block(), describe_block(1, kBytes))}, in_ms(deadline_ms));
    if (again.to_string() != failure) failure += " THEN " + again.to_string();
  }
  return failure + leftovers(descriptors_before);
}

struct Kill {
  int ranks;
  int culprit;
};
class ShmKillTest : public ::testing::TestWithParam<Kill> {};

TEST_P(ShmKillTest, KilledRankIsNamedByAllOthersLongBeforeTheDeadline) {
  const auto [ranks, culprit] = GetParam();
  const int before = test::open_descriptors();
  auto mesh = std::make_optional(check(ForkedMesh::create(ranks)));
  const int size = ranks;
  ProcessRanks processes(size, [&](int rank, const RankVoice& voice) {
    return rotate_until_failure([&] { return mesh->take(rank); }, rank, size, voice, before, 60'000);
  });
  mesh.reset();
  for (int rank = 0; rank < size; ++rank) ASSERT_TRUE(processes.has_said(rank, "rotating", 20s));
  processes.send_signal(culprit, SIGKILL);
  const std::string named = "peer_lost: rank " + std::to_string(culprit) + " (pid " +
                            std::to_string(processes.pid(culprit)) + ") died";
  for (int rank = 0; rank < size; ++rank) {
    if (rank == culprit) continue;
    const auto report = processes.wait(rank, 10s);
    EXPECT_EQ(report.message.find(named), 0U) << "rank " << rank << ": " << report.to_string();
    EXPECT_EQ(report.message.find("LEFT"), std::string::npos) << report.message;
    EXPECT_EQ(report.message.find("THEN"), std::string::npos) << report.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ShmKillTest,
                         ::testing::Values(Kill{2, 0}, Kill{3, 2}, Kill{4, 0}, Kill{4, 2}, Kill{8, 5}),
                         [](const auto& tested) {
                           return "ranks" + std::to_string(tested.param.ranks) + "killed" +
                                  std::to_string(tested.param.culprit);
                         });

TEST(ShmFaultsTest, KilledRankOfAStoreLeavesNoFiles) {
  const test::TempDir temp;
  const int before = test::open_descriptors();
  ProcessRanks processes(3, [&](int rank, const RankVoice& voice) {
    return rotate_until_failure(
        [&] { return bootstrap_file_store(temp.path() / "x", rank, 3, in_ms(20'000)); }, rank, 3, voice,
        before, 60'000);
  });
  for (int rank = 0; rank < 3; ++rank) ASSERT_TRUE(processes.has_said(rank, "rotating", 20s));
  EXPECT_TRUE(temp.names().empty()) << "while they run";
  processes.send_signal(1, SIGKILL);
  for (const int rank : {0, 2}) {
    const std::string message = processes.wait(rank, 10s).message;
    EXPECT_EQ(message.find("peer_lost: rank 1 (pid "), 0U) << message;
    EXPECT_EQ(message.find("LEFT"), std::string::npos) << message;
  }
  EXPECT_TRUE(temp.names().empty());
}

TEST(ShmFaultsTest, StoppedRankIsNamedAtTheDeadlineAndHearsOfItWhenItGoesOn) {
  const int before = test::open_descriptors();
  auto mesh = std::make_optional(check(ForkedMesh::create(4)));
  ProcessRanks processes(4, [&](int rank, const RankVoice& voice) {
    return rotate_until_failure([&] { return mesh->take(rank); }, rank, 4, voice, before, 2'000);
  });
  mesh.reset();
  for (int rank = 0; rank < 4; ++rank) ASSERT_TRUE(processes.has_said(rank, "rotating", 20s));
  processes.send_signal(1, SIGSTOP);
  for (const int rank : {0, 2, 3}) {
    const std::string message = processes.wait(rank, 15s).message;
    EXPECT_EQ(message.find("timeout: rank 1 did"), 0U) << "rank " << rank << ": " << message;
    EXPECT_EQ(message.find("LEFT"), std::string::npos) << message;
  }
  processes.send_signal(1, SIGCONT);
  const std::string message = processes.wait(1, 10s).message;
  EXPECT_EQ(message.find("timeout: rank 1 did"), 0U) << message;
}

TEST(ShmFaultsTest, RankThatLeavesInGoodOrderHarmsNobodyWhoDoesNotNeedIt) {
  ForkedMesh mesh = check(ForkedMesh::create(3));
  ProcessRanks processes(3, [&](int rank, const RankVoice& voice) {
    return conformance::run_shm_rank(mesh, rank, [&](int, Transport& transport) {
      Rank all(rank, 3, transport);
      EXPECT_TRUE(rotate_once(all, 0, in_ms(20'000)).is_ok());
      if (rank == 2) return;
      auto pair = check(transport.open_channel({{0, 1}, 7}, in_ms(20'000)));
      const int peer = 1 - rank;
      for (std::uint32_t round = 0; round < 100; ++round) {
        const Descriptor d = describe_block(round + 1, kBytes);
        std::vector<TransportOp> batch{conformance::send(peer, all.block(), d),
                                       conformance::recv(peer, all.block(8192), d)};
        if (round == 50) ::usleep(100'000);  // by now rank 2's process has ended
        const Status status = pair->run(batch, in_ms(20'000));
        EXPECT_TRUE(status.is_ok()) << status.to_string();
      }
      voice.say("done");
    });
  });
  EXPECT_EQ(test::failures_of(processes.wait_all(60s)), "");
}

}  // namespace
}  // namespace ringcomm
