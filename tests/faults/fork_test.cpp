// SPDX-License-Identifier: Apache-2.0
// fork() in a process with a live communicator, in the middle of a rotation: the child is refused everything,
// ends with all destructors, and the ranks go on. Oracle: the statuses, and the ranks' results afterwards.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/try.hpp"
#include "faults/fault_ranks.hpp"
#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/device/device.hpp"
#include "support/program.hpp"

namespace ringcomm {
namespace {

using namespace test;
using namespace std::chrono_literals;

constexpr int kRanks = 3;

// The leak checker takes what only the parent's other threads point at for leaked, so it is not asked.
[[noreturn]] void end_child(int code) {
  if (kAddressSanitizer) _exit(code);
  std::exit(code);
}

/// What the child's copy answers to each call; the first that is not refused, or nothing.
std::string what_is_not_refused(Communicator& comm, const Block& block, RingRotation& rotation) {
  const std::string expected =
      concat("not_available: communicator used in a forked child: rank ", comm.rank(), " of ", comm.size(),
             " belongs to the parent process (the child's copy is dead)");
  std::vector<float> memory(64);
  const auto at = [&](std::size_t first, std::initializer_list<std::int64_t> shape) {
    return TensorView::contiguous(memory.data() + first, DType::float32, shape);
  };
  const SoftmaxPartial partial{.out = at(0, {4, 2}), .statistic = at(32, {4})};
  const std::pair<const char*, Status> answers[] = {
      {"health", comm.health()},
      {"allocate", comm.allocate(64).status()},
      {"open_channel", comm.open_channel({comm.rank()}).status()},
      {"barrier", barrier(comm.channel()).status()},
      {"all_gather", all_gather(comm.channel(), at(0, {2}), at(32, {2 * kRanks})).status()},
      {"softmax_all_reduce", softmax_all_reduce(comm.channel(), partial, partial).status()},
      {"comm_stream", comm.channel().comm_stream().status()},
      {"arena block", comm.channel().allocate(64).status()},
      {"begin", comm.channel().begin(OpCode::barrier, DType::uint8, ReduceOp::none, 0).status()},
  };
  for (const auto& [call, status] : answers) {
    if (status.to_string() != expected) return concat(call, ": ", status.to_string());
  }
  const auto created = RingRotation::create(comm.channel(), block.k, block.v);
  if (created.is_ok()) {  // all values, no memory taken: refused when it starts
    auto fresh = std::move(const_cast<Result<RingRotation>&>(created)).value();
    if (fresh.start().to_string() != expected) return "start of a new rotation";
  } else if (created.status().to_string() != expected) {
    return concat("RingRotation::create: ", created.status().to_string());
  }
  if (rotation.next()) return "the running rotation goes on";
  if (rotation.status().is_ok()) return concat("status of the rotation: ", rotation.status().to_string());
  if (rotation.start().code() != StatusCode::not_available) return "the rotation starts again";
  comm.abort("from the child");
  if (comm.counters().arena_bytes != 0) return "counters";
  return {};
}

/// Tries everything, destroys everything, makes a communicator of its own and leaves through exit().
[[noreturn]] void be_child(Communicator& comm, Block& block, RingRotation& rotation) {
  alarm(20);
  std::string wrong = what_is_not_refused(comm, block, rotation);
  { const RingRotation gone(std::move(rotation)); }
  { const Block gone(std::move(block)); }
  { const Communicator gone(std::move(comm)); }
  const Status own = run_threads(
      2, [](Communicator& fresh) { return barrier(fresh.channel()).status(); }, patient());
  if (wrong.empty() && !own.is_ok()) wrong = concat("a communicator of the child's own: ", own.to_string());
  if (!wrong.empty()) std::fprintf(stderr, "forked child: %s\n", wrong.c_str());
  end_child(wrong.empty() ? 0 : 1);
}

Status fork_and_wait(const std::function<void()>& child) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid == 0) child();
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return Status::internal("fork or waitpid failed");
  if (WIFSIGNALED(status))
    return Status::internal(concat("the child was ended by signal ", WTERMSIG(status)));
  return WEXITSTATUS(status) == 0 ? Status() : Status::internal("the child said no, see standard error");
}

struct Scene {
  Medium medium;
  RotationChoice mode;
};
class ForkTest : public testing::TestWithParam<Scene> {};

TEST_P(ForkTest, TheChildIsRefusedEverythingAndTheRanksGoOn) {
  const LeftBehind before;
  const auto all = outcomes(
      GetParam().medium, kRanks,
      [](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(Block block, make_block(comm));
        RotationOptions options;
        options.mode = GetParam().mode;
        RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v, options));
        Status forked;
        for (int round = 0; round < 6; ++round) {
          RINGCOMM_TRY(rotate_checked(comm, block, rotation, round, [&](int step) {
            if (comm.rank() == 1 && round == 2 && step == 1)
              forked = fork_and_wait([&] { be_child(comm, block, rotation); });
          }));
        }
        RINGCOMM_TRY(forked);
        // Relay's slots and the arena still belong to the parent.
        RINGCOMM_TRY_ASSIGN(auto another, RingRotation::create(comm.channel(), block.k, block.v, options));
        return rotate_checked(comm, block, another, 6);
      },
      patient());
  for (const RankOutcome& rank : all) {
    EXPECT_EQ(rank.said, "ok");
    EXPECT_EQ(rank.health, "ok");
    EXPECT_EQ(rank.left, "");
  }
  EXPECT_EQ(before.differences(), "");
}

std::vector<Scene> scenes() {
  std::vector<Scene> all;
  for (const Medium medium : media_that_may_fork()) {
    for (const RotationChoice mode : {RotationChoice::direct, RotationChoice::relay})
      all.push_back({medium, mode});
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Scenes, ForkTest, testing::ValuesIn(scenes()), [](const auto& tested) {
  return concat(name_of(tested.param.medium),
                tested.param.mode == RotationChoice::direct ? "_direct" : "_relay");
});

TEST(ForkedChildTest, DoesNotWaitForAStreamThatStayedWithItsParent) {
  const Status status = run_processes(
      2,
      [](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(auto stream, host_device().create_stream({}));
        RINGCOMM_TRY(stream.enqueue([] {
          std::this_thread::sleep_for(300ms);
          return Status();
        }));
        CallOptions options;
        options.stream = stream.view();
        RINGCOMM_TRY_ASSIGN(const Work work, barrier(comm.channel(), options));
        Status forked;
        if (comm.rank() == 1) {
          forked = fork_and_wait([&] {
            const std::int64_t began_ns = now_ns();
            { const Communicator gone(std::move(comm)); }
            _exit(now_ns() - began_ns < 500'000'000 ? 0 : 1);
          });
        }
        RINGCOMM_TRY(work.wait(Deadline::after(30s)));
        return forked;
      },
      patient());
  EXPECT_EQ(status.to_string(), "ok");
}

TEST(ForkedChildTest, HidesNoDeathOfItsParent) {
  // The child holds copies of every socket and memfd of rank 1 while rank 1 is killed.
  auto made = ForkedMesh::create(kRanks);
  check(made.status());
  std::optional<ForkedMesh> mesh(std::move(made).value());
  ProcessRanks ranks(kRanks, [&](int rank, const RankVoice& voice) {
    return run_and_report(
        [&]() -> Result<Communicator> {
          RINGCOMM_TRY_ASSIGN(auto bootstrap, mesh->take(rank));
          return Communicator::create(std::move(bootstrap), patient());
        },
        [&](Communicator& comm) -> Status {
          RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm));
          RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v));
          for (int round = 0;; ++round) {
            RINGCOMM_TRY(rotate_checked(comm, block, rotation, round, [&](int step) {
              if (round != 3 || step != 1) return;
              if (rank == 1 && fork() == 0) {
                usleep(1'500'000);
                _exit(0);
              }
              voice.say("forked");
            }));
          }
        });
  });
  mesh.reset();
  for (int rank = 0; rank < kRanks; ++rank) ASSERT_TRUE(ranks.has_said(rank, "forked", 30s));
  ranks.send_signal(1, SIGKILL);
  const std::int64_t killed_ns = now_ns();
  for (const int rank : {0, 2}) {
    const RankOutcome got = parse_report(ranks.wait(rank, 30s));
    EXPECT_EQ(got.said,
              "peer_lost: rank 1 (pid P) died: its process ended without leaving the group, while rank R "
              "waited in OP");
    EXPECT_EQ(got.left, "");
    EXPECT_LT((now_ns() - killed_ns) / 1'000'000, 1000) << "rank " << rank;
  }
  ranks.wait(1, 10s);
}

TEST(ForkedChildTest, AProgramThatARankStartsInheritsNothing) {
  const auto descriptors = [] { return run_program("ls -l /proc/self/fd").output; };
  const auto lines = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  const Status status = run_processes(
      2,
      [&](Communicator& comm) -> Status {
        RINGCOMM_TRY_ASSIGN(const Block block, make_block(comm));
        RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), block.k, block.v));
        RINGCOMM_TRY(rotate_checked(comm, block, rotation, 0));
        const std::string seen = descriptors();
        if (lines(seen) < 4) return Status::internal("ls failed");
        if (seen.find("memfd:") == std::string::npos &&
            seen.find("anon_inode:[pidfd]") == std::string::npos &&
            seen.find("anon_inode:[eventpoll]") == std::string::npos)
          return rotate_checked(comm, block, rotation, 1);
        return Status::internal(seen);
      },
      patient());
  EXPECT_EQ(status.to_string(), "ok");
}

}  // namespace
}  // namespace ringcomm
