// SPDX-License-Identifier: Apache-2.0
// The kernel's own lists (/proc/self, /dev/shm) say what a transport takes, and what it leaves behind.
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "transport/shm/shm_harness.hpp"

namespace ringcomm {
namespace {

using conformance::describe_block;
using conformance::in_ms;
using conformance::Rank;
using test::ProcessRanks;
using test::RankVoice;
using namespace std::chrono_literals;

void exchange(Rank& me, std::uint32_t round) {
  const Descriptor d = describe_block(round + 1, 100);
  conformance::fill(me.block(), 100, me.rank, static_cast<int>(round));
  RemoteView view;
  const Status taken =
      me.go({conformance::offer(me.next(), me.block(), d), conformance::take(me.previous(), view, d)});
  ASSERT_TRUE(taken.is_ok()) << taken.to_string();
  EXPECT_TRUE(conformance::holds(view.data, 100, me.previous(), static_cast<int>(round)));
  const Status done = me.go({conformance::release(me.previous(), d), conformance::reclaim(me.next(), d)});
  ASSERT_TRUE(done.is_ok()) << done.to_string();
}

TEST(ShmLifecycleTest, TwoHundredCyclesLeakNoDescriptorMappingOrThread) {
  conformance::ShmThreadHarness harness;
  const auto cycle = [&] {
    harness.run(2, [](int rank, Transport& transport) {
      Rank me(rank, 2, transport, 4096);
      exchange(me, 0);
    });
  };
  cycle();
  const int descriptors = test::open_descriptors();
  const int mappings = test::mappings_with("memfd:");
  for (int i = 0; i < 200; ++i) cycle();
  EXPECT_EQ(test::open_descriptors(), descriptors);
  EXPECT_EQ(test::mappings_with("memfd:"), mappings);
  EXPECT_EQ(mappings, 0);
  EXPECT_EQ(test::threads_of_this_process(), 1);
}

TEST(ShmLifecycleTest, ConnectedRanksRunNoThreadOfTheirOwn) {
  ForkedMesh mesh = check(ForkedMesh::create(2));
  ProcessRanks processes(2, [&](int rank, const RankVoice&) {
    return conformance::run_shm_rank(mesh, rank, [&](int, Transport& transport) {
      Rank me(rank, 2, transport);
      exchange(me, 0);
      EXPECT_EQ(test::threads_of_this_process(), 1);
    });
  });
  EXPECT_EQ(test::failures_of(processes.wait_all(30s)), "");
}

/// /dev/shm of 64 KB in a mount namespace of this process's own. False where the system refuses that.
bool shrink_dev_shm() {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  return ::mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=64k") == 0;
}

std::vector<std::string> dev_shm_names() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& item : std::filesystem::directory_iterator("/dev/shm", ignored)) {
    names.push_back(item.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(ShmLifecycleTest, WorksWithATinyDevShmAndPutsNothingThere) {
  ForkedMesh mesh = check(ForkedMesh::create(4));
  ProcessRanks processes(4, [&](int rank, const RankVoice& voice) {
    // Where mounting is refused, the claim that nothing appears there still holds.
    voice.say(shrink_dev_shm() ? "tiny" : "as it is");
    const auto before = dev_shm_names();
    return conformance::run_shm_rank(mesh, rank, [&](int, Transport& transport) {
      Rank me(rank, 4, transport, 8 << 20);
      exchange(me, 0);
      EXPECT_EQ(dev_shm_names(), before);
    });
  });
  EXPECT_EQ(test::failures_of(processes.wait_all(30s)), "");
  RecordProperty("dev_shm", processes.has_said(0, "tiny", 0s) ? "64 KB" : "as it is");
}

TEST(ShmLifecycleTest, ForkWithALiveTransportHarmsNeitherSide) {
  ForkedMesh mesh = check(ForkedMesh::create(2));
  ProcessRanks processes(2, [&](int rank, const RankVoice&) -> std::string {
    auto group = check(mesh.take(rank));
    auto transport = std::make_unique<transport::shm::Transport>();
    if (Status status = transport->connect(*group, {}, in_ms(20'000)); !status.is_ok())
      return status.to_string();
    auto me = std::make_unique<Rank>(rank, 2, *transport);
    for (std::uint32_t round = 0; round < 20; ++round) exchange(*me, round);
    const pid_t child = ::fork();
    if (child == 0) {
      const bool is_refused =
          transport->register_segment(me->segment).code() == StatusCode::invalid_argument &&
          !transport->open_channel({{0, 1}, 3}, in_ms(100)).is_ok();
      transport->deregister_segment(me->segment.get());
      transport->abort(Status::aborted("by the child"));
      me.reset();
      transport.reset();
      group.reset();
      ::_exit(is_refused ? 0 : 1);
    }
    for (std::uint32_t round = 20; round < 40; ++round) exchange(*me, round);
    int status = -1;
    ::waitpid(child, &status, 0);
    // The channel still stands after the child has destroyed its copy.
    for (std::uint32_t round = 40; round < 60; ++round) exchange(*me, round);
    if (::testing::Test::HasFailure()) return "the rotation failed, see above";
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : "child ended with " + std::to_string(status);
  });
  EXPECT_EQ(test::failures_of(processes.wait_all(30s)), "");
}

}  // namespace
}  // namespace ringcomm
