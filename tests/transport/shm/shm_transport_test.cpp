// SPDX-License-Identifier: Apache-2.0
// Connecting: who is refused and why, and that one rank's failure becomes everybody's with the same reason.
#include "transport/shm/transport.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "support/temp_dir.hpp"
#include "transport/shm/shm_harness.hpp"
#include "transport/shm/spy_bootstrap.hpp"

namespace ringcomm::transport::shm {
namespace {

using conformance::describe_block;
using conformance::in_ms;
using conformance::offer;
using conformance::Rank;
using conformance::reclaim;
using conformance::release;
using conformance::take;
using test::ProcessRanks;
using test::RankVoice;
using test::SpyBootstrap;
using namespace std::chrono_literals;

bool has(std::string_view message, std::string_view text) {
  return message.find(text) != std::string_view::npos;
}

/// Connects `ranks` threads and runs `body` with each rank's outcome; all transports live until all are done.
void connect_threads(int ranks, const std::function<void(SpyBootstrap&)>& prepare,
                     const std::function<void(SpyBootstrap&, Transport&, const Status&)>& body) {
  auto mesh = check(ForkedMesh::create(ranks));
  std::vector<std::thread> threads;
  std::vector<std::unique_ptr<SpyBootstrap>> groups;
  std::vector<Transport> transports(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    groups.push_back(std::make_unique<SpyBootstrap>(check(mesh.take(rank))));
    prepare(*groups.back());
  }
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      SpyBootstrap& group = *groups[static_cast<std::size_t>(rank)];
      Transport& transport = transports[static_cast<std::size_t>(rank)];
      const Status status = transport.connect(group, {}, in_ms(20'000));
      body(group, transport, status);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ShmTransportTest, ServesProcessesNotThreads) {
  auto threads = check(bootstrap_threads(1));
  Transport transport;
  EXPECT_EQ(transport.can_serve(*threads[0]).code(), StatusCode::not_available);
  EXPECT_EQ(transport.connect(*threads[0], {}, in_ms(1000)).code(), StatusCode::not_available);
  auto mesh = check(ForkedMesh::create(1));
  const auto group = check(mesh.take(0));
  EXPECT_TRUE(transport.can_serve(*group).is_ok());
  EXPECT_EQ(transport.name(), "shm");
  EXPECT_EQ(transport.path_name(0), "shm");
  const Capabilities can = transport.capabilities();
  EXPECT_TRUE(can.direct_read && can.two_sided && can.survives_peer_death);
  EXPECT_FALSE(can.stream_ordered || can.group_required || can.capture_safe);
}

TEST(ShmTransportTest, MemoryThatIsNotSharedIsFoundByItsNonceAndAllRanksSayWho) {
  const auto falsify = [](SpyBootstrap& group) {
    if (group.rank() != 2) return;
    group.falsify = [](int gather, std::vector<std::vector<std::byte>>& all) {
      if (gather == 1) all[1][0] ^= std::byte{1};  // rank 1's nonce as rank 2 hears it
    };
  };
  connect_threads(3, falsify, [](SpyBootstrap& group, Transport&, const Status& status) {
    EXPECT_EQ(status.code(), StatusCode::not_available) << "rank " << group.rank();
    EXPECT_TRUE(has(status.message(),
                    "rank 2 cannot connect over shared memory: rank 2 does not see the memory "
                    "of rank 1 (the nonce"))
        << status.to_string();
  });
}

TEST(ShmTransportTest, GarbageOnTheSocketNamesItsSender) {
  connect_threads(
      2, [](SpyBootstrap&) {},
      [](SpyBootstrap& group, Transport& transport, const Status& connected) {
        ASSERT_TRUE(connected.is_ok()) << connected.to_string();
        if (group.rank() == 1) {
          bootstrap::send_packet(group.copies[0].get(), std::vector<std::byte>(100, std::byte{0x5A}));
        }
        Rank me(group.rank(), 2, transport);
        const Descriptor d = describe_block(1, 64);
        RemoteView view;
        const Status status = group.rank() == 1 ? me.go({offer(0, me.block(), d), reclaim(0, d)})
                                                : me.go({take(1, view, d), release(1, d)});
        EXPECT_EQ(status.code(), StatusCode::corrupt_data) << status.to_string();
        EXPECT_TRUE(has(status.message(), "rank 1 sent more than 16 bytes that announce no segment"))
            << status.to_string();
      });
}

TEST(ShmTransportTest, ManyNewSegmentsAreEachMappedOnceAndDroppedWhenTakenBack) {
  conformance::ShmThreadHarness harness;
  const int before = test::open_descriptors();
  harness.run(2, [&](int rank, ringcomm::Transport& transport) {
    Rank me(rank, 2, transport);
    for (int round = 0; round < 100; ++round) {
      const Descriptor d = describe_block(static_cast<std::uint32_t>(round) + 1, 4096);
      auto segment = check(Segment::create({.bytes = 4096}));
      ASSERT_TRUE(transport.register_segment(segment).is_ok());
      conformance::fill(segment->data(), 4096, rank, round);
      RemoteView view;
      ASSERT_TRUE(me.go({offer(1 - rank, segment->data(), d), take(1 - rank, view, d)}).is_ok());
      EXPECT_TRUE(conformance::holds(view.data, 4096, 1 - rank, round));
      ASSERT_TRUE(me.go({release(1 - rank, d), reclaim(1 - rank, d)}).is_ok());
      transport.deregister_segment(segment.get());
    }
    // A peer may be a round behind; what it holds of the 100 is bounded all the same.
    EXPECT_LT(test::open_descriptors(), before + 60);
  });
  EXPECT_EQ(test::open_descriptors(), before);
}

/// Operations of another channel, so that both ranks come to drop what they need no more.
void run_operations(Rank& me, TransportChannel& over, int count) {
  for (int i = 0; i < count; ++i) {
    const Descriptor d = describe_block(static_cast<std::uint32_t>(i) + 1, 8);
    over.announce(d);
    const Status status = me.go(over, {conformance::send(1 - me.rank, me.block(), d),
                                       conformance::recv(1 - me.rank, me.block(64), d)});
    ASSERT_TRUE(status.is_ok()) << status.to_string();
  }
}

TEST(ShmTransportTest, FreedMemoryIsUnmappedByPeersAfterAWhileButNeverUnderAView) {
  conformance::ShmThreadHarness harness;
  harness.run(2, [&](int rank, ringcomm::Transport& transport) {
    Rank me(rank, 2, transport);
    auto other = check(transport.open_channel({{0, 1}, 9}, in_ms(20'000)));
    const Descriptor d = describe_block(1, 4096);
    RemoteView view;
    if (rank == 1) {
      auto segment = check(Segment::create({.bytes = 4096, .name = "ringcomm-freed"}));
      ASSERT_TRUE(transport.register_segment(segment).is_ok());
      conformance::fill(segment->data(), 4096, 1, 3);
      ASSERT_TRUE(me.go({offer(0, segment->data(), d)}).is_ok());
      run_operations(me, *other, 1);  // rank 0 has its view
      transport.deregister_segment(segment.get());
      EXPECT_EQ(test::mappings_with("ringcomm-freed"), 2);
    } else {
      ASSERT_TRUE(me.go({take(1, view, d)}).is_ok());
      run_operations(me, *other, 1);
    }
    run_operations(me, *other, 200);
    if (rank == 0) {
      for (int i = 0; i < 200; ++i) me.announce(d);
      EXPECT_EQ(test::mappings_with("ringcomm-freed"), 1) << "the view is out";
      EXPECT_TRUE(conformance::holds(view.data, 4096, 1, 3));
      ASSERT_TRUE(me.go({release(1, d)}).is_ok());
      for (int i = 0; i < 200; ++i) me.announce(describe_block(static_cast<std::uint32_t>(i) + 2, 0));
      EXPECT_EQ(test::mappings_with("ringcomm-freed"), 0);
    }
    run_operations(me, *other, 1);
  });
}

/// Connects in a child after `prepare` (for limits that must not stay in the test program).
std::string connect_rank(ForkedMesh& mesh, int rank, const std::function<void()>& prepare) {
  auto group = mesh.take(rank);
  if (!group.is_ok()) return group.status().to_string();
  prepare();
  Transport transport;
  return transport.connect(*group.value(), {}, in_ms(20'000)).to_string();
}

TEST(ShmTransportTest, FileSizeLimitTooSmallIsAnErrorOnAllRanksNotASignal) {
  auto mesh = check(ForkedMesh::create(3));
  ProcessRanks processes(3, [&](int rank, const RankVoice&) {
    return connect_rank(mesh, rank, [&] {
      const rlimit small{65'536, 65'536};
      if (rank == 1) ::setrlimit(RLIMIT_FSIZE, &small);
    });
  });
  for (int rank = 0; rank < 3; ++rank) {
    const auto report = processes.wait(rank, 20s);
    EXPECT_EQ(report.signal, 0);
    EXPECT_TRUE(has(report.message,
                    "out_of_memory: rank 1 cannot connect over shared memory: segment "
                    "\"ringcomm-control\""))
        << report.message;
    EXPECT_TRUE(has(report.message, "RLIMIT_FSIZE")) << report.message;
  }
}

#ifndef RINGCOMM_SANITIZED  // the sanitizers need descriptors of their own to look at memory
TEST(ShmTransportTest, TooFewDescriptorsIsAnErrorOnAllRanks) {
  auto mesh = check(ForkedMesh::create(3));
  ProcessRanks processes(3, [&](int rank, const RankVoice&) {
    return connect_rank(mesh, rank, [&] {
      const auto used = static_cast<rlim_t>(test::open_descriptors() + 1);
      const rlimit few{used, used};
      if (rank == 1) ::setrlimit(RLIMIT_NOFILE, &few);
    });
  });
  for (int rank = 0; rank < 3; ++rank) {
    const auto report = processes.wait(rank, 20s);
    EXPECT_EQ(report.signal, 0);
    EXPECT_NE(report.message, "ok");
    EXPECT_TRUE(has(report.message, "rank 1")) << report.message;
  }
}
#endif

TEST(ShmTransportTest, RankThatDiesBeforeItConnectsIsNamed) {
  auto mesh = check(ForkedMesh::create(3));
  ProcessRanks processes(3, [&](int rank, const RankVoice&) {
    return connect_rank(mesh, rank, [&] {
      if (rank == 2) ::_exit(7);
    });
  });
  for (int rank = 0; rank < 2; ++rank) {
    const std::string message = processes.wait(rank, 10s).message;
    EXPECT_TRUE(has(message, "peer_lost: ")) << message;
    EXPECT_TRUE(has(message, "rank 2")) << message;
  }
}

}  // namespace
}  // namespace ringcomm::transport::shm
