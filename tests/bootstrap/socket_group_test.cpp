// SPDX-License-Identifier: Apache-2.0
// The oracle of a gather is the list of contributions, computed directly. A hostile peer is a raw socket that
// sends what a SocketGroup never would.
#include "bootstrap/socket_group.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap/group_threads.hpp"
#include "bootstrap/packet.hpp"
#include "support/process_ranks.hpp"

namespace ringcomm {
namespace {

using bootstrap::PacketHeader;
using bootstrap::PacketKind;
using bootstrap::SocketGroup;
using bootstrap::UniqueFd;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::bytes_of;
using test::contribution;
using test::run_ranks;
using test::socket_groups;

bool has(const Status& status, std::string_view text) {
  return status.message().find(text) != std::string_view::npos;
}

class SocketGroupTest : public ::testing::TestWithParam<int> {};

TEST_P(SocketGroupTest, GathersUnevenAndEmptyContributionsInRankOrder) {
  const int ranks = GetParam();
  const auto groups = socket_groups(ranks);
  const auto length = [](int rank, int round) {
    return static_cast<std::size_t>((rank * 37 + round * 1001) % 5000 * (rank % 2));
  };
  run_ranks(ranks, [&](int rank) {
    for (int round = 0; round < 5; ++round) {
      auto all = groups[static_cast<std::size_t>(rank)]->all_gather(contribution(rank, length(rank, round)),
                                                                    Deadline::after(seconds(10)));
      ASSERT_TRUE(all.is_ok()) << all.status().to_string();
      for (int r = 0; r < ranks; ++r) {
        EXPECT_EQ(all.value()[static_cast<std::size_t>(r)], contribution(r, length(r, round)));
      }
    }
  });
}

TEST_P(SocketGroupTest, GathersThroughManyPacketsWithoutDeadlock) {
  const int ranks = GetParam();
  const auto groups = socket_groups(ranks);
  const std::size_t bytes = bootstrap::kGatherBytesMax;
  run_ranks(ranks, [&](int rank) {
    auto all = groups[static_cast<std::size_t>(rank)]->all_gather(contribution(rank, bytes),
                                                                  Deadline::after(seconds(20)));
    ASSERT_TRUE(all.is_ok()) << all.status().to_string();
    for (int r = 0; r < ranks; ++r) {
      EXPECT_TRUE(all.value()[static_cast<std::size_t>(r)] == contribution(r, bytes)) << "rank " << r;
    }
  });
}

TEST_P(SocketGroupTest, HandsOutOneConnectedCloseOnExecSocketPerPair) {
  const int ranks = GetParam();
  const auto groups = socket_groups(ranks);
  run_ranks(ranks, [&](int rank) {
    Bootstrap& group = *groups[static_cast<std::size_t>(rank)];
    std::vector<UniqueFd> sockets(static_cast<std::size_t>(ranks));
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      auto socket = group.take_socket(peer);
      ASSERT_TRUE(socket.is_ok()) << socket.status().to_string();
      sockets[static_cast<std::size_t>(peer)].reset(socket.value());
      EXPECT_NE(::fcntl(socket.value(), F_GETFD) & FD_CLOEXEC, 0);
      EXPECT_EQ(group.take_socket(peer).status().code(), StatusCode::invalid_argument);
      EXPECT_EQ(group.peer_pid(peer).value(), ::getpid());
      bootstrap::send_packet(socket.value(), bytes_of("from " + std::to_string(rank)));
    }
    // The gather still works beside the sockets that were taken.
    ASSERT_TRUE(group.all_gather({}, Deadline::after(seconds(10))).is_ok());
    for (int peer = 0; peer < ranks; ++peer) {
      if (peer == rank) continue;
      std::vector<std::byte> buffer(64);
      const auto packet = bootstrap::receive_packet(sockets[static_cast<std::size_t>(peer)].get(), buffer);
      buffer.resize(packet.bytes);
      EXPECT_EQ(buffer, bytes_of("from " + std::to_string(peer)));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, SocketGroupTest, ::testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& tested) { return "ranks" + std::to_string(tested.param); });

TEST(SocketGroupLimitsTest, RefusesMoreThanTheLimitAndStaysUsable) {
  const auto groups = socket_groups(1);
  const std::vector<std::byte> large(bootstrap::kGatherBytesMax + 1);
  const auto refused = groups[0]->all_gather(large, Deadline::after(seconds(1)));
  EXPECT_EQ(refused.status().code(), StatusCode::invalid_argument);
  EXPECT_TRUE(groups[0]->all_gather({}, Deadline::after(seconds(1))).is_ok());
}

TEST(SocketGroupLimitsTest, HasNoSharedObjectsAndNoPeerOfItsOwn) {
  const auto groups = socket_groups(2);
  EXPECT_EQ(groups[0]->shared_object("x", [] { return std::make_shared<int>(1); }).status().code(),
            StatusCode::not_available);
  EXPECT_EQ(groups[0]->take_socket(0).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(groups[0]->take_socket(2).status().code(), StatusCode::invalid_argument);
  EXPECT_EQ(groups[0]->take_socket(-1).status().code(), StatusCode::invalid_argument);
}

TEST(SocketGroupFailureTest, DeadlineListsTheMissingRanksAndTheOthersHearOfIt) {
  const auto groups = socket_groups(5);
  const std::int64_t began_ns = now_ns();
  run_ranks(5, [&](int rank) {
    if (rank == 2 || rank == 4) return;
    const auto all = groups[static_cast<std::size_t>(rank)]->all_gather(
        {}, Deadline::after(rank == 0 ? milliseconds(150) : milliseconds(60'000)));
    EXPECT_EQ(all.status().code(), StatusCode::timeout);
    EXPECT_TRUE(has(all.status(), "ranks 2, 4 of 5 have not come to all_gather #1"))
        << all.status().to_string();
    const auto again =
        groups[static_cast<std::size_t>(rank)]->all_gather({}, Deadline::after(milliseconds(1)));
    EXPECT_EQ(again.status().message(), all.status().message()) << "the first failure stays";
  });
  EXPECT_LT(now_ns() - began_ns, 30'000'000'000) << "only rank 0's deadline is short";
}

TEST(SocketGroupFailureTest, PeerThatLeavesIsNamed) {
  auto groups = socket_groups(3);
  groups[1].reset();
  run_ranks(3, [&](int rank) {
    if (rank == 1) return;
    const auto all = groups[static_cast<std::size_t>(rank)]->all_gather({}, Deadline::after(seconds(60)));
    EXPECT_EQ(all.status().code(), StatusCode::peer_lost);
    EXPECT_TRUE(has(all.status(), "rank 1")) << all.status().to_string();
  });
}

TEST(SocketGroupFailureTest, WhatAPeerSentBeforeItLeftStillCounts) {
  auto groups = socket_groups(2);
  std::thread leaver([group = std::move(groups[1])] {
    ASSERT_TRUE(group->all_gather(bytes_of("last"), Deadline::after(seconds(10))).is_ok());
  });
  const auto all = groups[0]->all_gather(bytes_of("first"), Deadline::after(seconds(10)));
  leaver.join();
  ASSERT_TRUE(all.is_ok()) << all.status().to_string();
  EXPECT_EQ(all.value()[1], bytes_of("last"));
}

/// Rank 0 is a SocketGroup of two; the test plays rank 1 by hand.
struct HostilePeer {
  HostilePeer() {
    auto ends = bootstrap::make_socket_pair();
    std::vector<UniqueFd> sockets(2);
    sockets[1] = std::move(ends.value().first);
    socket = std::move(ends.value().second);
    group = SocketGroup::create(0, std::move(sockets)).value();
  }
  void greet(int rank = 1, int size = 2) {
    PacketHeader header;
    header.rank = rank;
    header.size = size;
    send(bootstrap::pack(header));
  }
  void send(std::span<const std::byte> bytes) { bootstrap::send_packet(socket.get(), bytes); }
  void send_chunk(std::uint64_t total, std::uint64_t offset, std::size_t bytes, std::uint32_t sequence = 1) {
    PacketHeader header;
    header.kind = PacketKind::chunk;
    header.sequence = sequence;
    header.total = total;
    header.offset = offset;
    send(bootstrap::pack(header, std::vector<std::byte>(bytes)));
  }
  Status gather() { return group->all_gather({}, Deadline::after(milliseconds(300))).status(); }

  UniqueFd socket;
  std::unique_ptr<SocketGroup> group;
};

void expect_corrupt(const Status& status) {
  EXPECT_EQ(status.code(), StatusCode::corrupt_data) << status.to_string();
  EXPECT_TRUE(has(status, "rank 1")) << status.to_string();
}

TEST(SocketGroupHostileTest, WellBehavedRawPeerPasses) {
  HostilePeer peer;
  peer.greet();
  peer.send_chunk(10, 0, 4);
  peer.send_chunk(10, 4, 6);
  EXPECT_TRUE(peer.gather().is_ok());
}

TEST(SocketGroupHostileTest, GarbageInsteadOfAGreetingNamesTheRank) {
  for (const std::size_t bytes : {std::size_t{1}, sizeof(PacketHeader), std::size_t{50'000}}) {
    HostilePeer peer;
    peer.send(std::vector<std::byte>(bytes, std::byte{0x5A}));
    expect_corrupt(peer.gather());
  }
}

TEST(SocketGroupHostileTest, WrongChunksNameTheRank) {
  struct Case {
    std::uint64_t total, offset;
    std::size_t bytes;
  };
  const std::uint64_t huge = ~std::uint64_t{0};
  for (const Case c : {Case{huge, 0, 8}, Case{bootstrap::kGatherBytesMax + 1, 0, 8}, Case{10, 1, 4},
                       Case{10, huge, 4}, Case{10, 0, 11}, Case{10, 0, 0}, Case{4, 0, 40'000}}) {
    HostilePeer peer;
    peer.greet();
    peer.send_chunk(c.total, c.offset, c.bytes);
    expect_corrupt(peer.gather());
  }
}

TEST(SocketGroupHostileTest, ChunksThatChangeTheirTotalNameTheRank) {
  HostilePeer peer;
  peer.greet();
  peer.send_chunk(10, 0, 4);
  peer.send_chunk(1000, 4, 6);
  expect_corrupt(peer.gather());
}

TEST(SocketGroupHostileTest, GreetingAsSomebodyElseIsRefused) {
  HostilePeer peer;
  peer.greet(0);
  expect_corrupt(peer.gather());
}

TEST(SocketGroupHostileTest, AnotherWorldSizeNamesBoth) {
  HostilePeer peer;
  peer.greet(1, 3);
  const Status status = peer.gather();
  EXPECT_EQ(status.code(), StatusCode::invalid_argument);
  EXPECT_TRUE(has(status, "rank 0 says 2, rank 1 says 3")) << status.to_string();
}

TEST(SocketGroupHostileTest, AnotherRoundIsAMismatchThatNamesBoth) {
  HostilePeer peer;
  peer.greet();
  peer.send_chunk(4, 0, 4, 7);
  const Status status = peer.gather();
  EXPECT_EQ(status.code(), StatusCode::mismatch);
  EXPECT_TRUE(has(status, "rank 1 is in all_gather #7, rank 0 in #1")) << status.to_string();
}

TEST(SocketGroupHostileTest, ReasonOfAPeerIsPrintableAndItsCodeBounded) {
  HostilePeer peer;
  peer.greet();
  PacketHeader header;
  header.kind = PacketKind::gave_up;
  header.code = 999;
  peer.send(bootstrap::pack(header, bytes_of("bad\n\x1b[31mred")));
  const Status status = peer.gather();
  EXPECT_EQ(status.code(), StatusCode::aborted);
  EXPECT_EQ(status.message(), "rank 1 gave up: bad  [31mred");
}

TEST(SocketGroupHostileTest, EnclosedDescriptorsDoNotLeak) {
  const int before = test::open_descriptors();
  {
    HostilePeer peer;
    peer.greet();
    PacketHeader header;
    header.kind = PacketKind::chunk;
    header.sequence = 1;
    for (int i = 0; i < 10; ++i) {
      header.total = 10;
      header.offset = static_cast<std::uint64_t>(i);
      bootstrap::send_packet(peer.socket.get(), bootstrap::pack(header, std::vector<std::byte>(1)), 0);
    }
    EXPECT_TRUE(peer.gather().is_ok());
  }
  EXPECT_EQ(test::open_descriptors(), before);
}

}  // namespace
}  // namespace ringcomm
