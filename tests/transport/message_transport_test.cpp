// SPDX-License-Identifier: Apache-2.0
// What the message transport adds to the shared claims: deaths, idle ranks, memory, wrong ports.
#include "transport/message/transport.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "conformance/transport_harness.hpp"
#include "support/memory_port.hpp"
#include "support/rank_threads.hpp"

namespace ringcomm::conformance {
namespace {

constexpr std::int64_t kSoonMs = 1'500;

/// Runs ranks over memory ports; the body also gets its port.
void run_with_ports(int ranks, const std::function<void(int, Transport&, MessagePort&)>& body) {
  testing_support::run_rank_threads(ranks, [&](Bootstrap& bootstrap) {
    auto made = testing_support::memory_port()();
    MessagePort& port = *made;
    transport::message::MessageTransport transport(std::move(made));
    ASSERT_TRUE(transport.connect(bootstrap, {}, in_ms(30'000)).is_ok());
    body(bootstrap.rank(), transport, port);
  });
}

void expect_text(const Status& status, StatusCode code, std::string_view piece) {
  EXPECT_EQ(status.code(), code) << status.to_string();
  EXPECT_NE(status.message().find(piece), std::string_view::npos) << status.to_string();
}

TEST(MessageTransportTest, DeadRankIsNamedByAll) {
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{100'000}}) {
    run_with_ports(4, [bytes](int rank, Transport& transport, MessagePort& port) {
      Rank me(rank, 4, transport, 4 * bytes);
      const Descriptor d = describe_block(1, bytes);
      if (rank == 2) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        testing_support::die(port);
        return std::this_thread::sleep_for(std::chrono::milliseconds(300));
      }
      const std::int64_t started_ns = now_ns();
      // The one after it sends to it as well, and a large block stays half way.
      std::vector<TransportOp> batch{recv(2, me.block(bytes), d)};
      if (rank == 3) batch.push_back(send(2, me.block(), d));
      expect_text(me.go(batch, in_ms(60'000)), StatusCode::peer_lost, "rank 2 is lost");
      EXPECT_LT(ms_since(started_ns), kSoonMs);
    });
  }
}

TEST(MessageTransportTest, IdleRankAbortsAndIsHeardAtOnce) {
  run_with_ports(3, [](int rank, Transport& transport, MessagePort&) {
    Rank me(rank, 3, transport);
    if (rank == 0) {  // calls nothing but abort() and health()
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      transport.abort(Status::aborted("enough"));
      return std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
    const std::int64_t started_ns = now_ns();
    if (rank == 1)
      expect_text(me.go({recv(2, me.block(), describe_block(1, 8))}), StatusCode::aborted, "enough");
    while (rank == 2 && transport.health().is_ok() && ms_since(started_ns) < kSoonMs)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    expect_text(transport.health(), StatusCode::aborted, "enough");
    EXPECT_LT(ms_since(started_ns), kSoonMs);
  });
}

TEST(MessageTransportTest, AbortBeforeConnectIsToldToAll) {
  testing_support::run_rank_threads(2, [](Bootstrap& bootstrap) {
    const auto transport = message_transport(testing_support::memory_port())();
    if (bootstrap.rank() == 1) transport->abort(Status::aborted("early"));
    ASSERT_TRUE(transport->connect(bootstrap, {}, in_ms(30'000)).is_ok());
    const std::int64_t started_ns = now_ns();
    while (transport->health().is_ok() && ms_since(started_ns) < kSoonMs)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    expect_text(transport->health(), StatusCode::aborted, "early");
  });
}

TEST(MessageTransportTest, MismatchIsFoundByRanksThatOnlySend) {
  run_with_ports(2, [](int rank, Transport& transport, MessagePort&) {
    Rank me(rank, 2, transport);
    Descriptor d = describe_block(3, 64);
    if (rank == 1) d.op = OpCode::barrier;
    me.announce(d);
    const std::int64_t started_ns = now_ns();
    Status status = me.go({send(1 - rank, me.block(), d)});
    while (status.is_ok() && ms_since(started_ns) < kSoonMs) status = transport.health();
    expect_text(status, StatusCode::mismatch, "operation differs");
    expect_text(status, StatusCode::mismatch, "rank 0 has ring_rotate");
    expect_text(status, StatusCode::mismatch, "rank 1 has barrier");
  });
}

TEST(MessageTransportTest, SmallBlocksAreBufferedUpToTheDepthOfALane) {
  run_with_ports(2, [](int rank, Transport& transport, MessagePort&) {
    Rank me(rank, 2, transport);
    for (std::uint32_t i = 1; rank == 0 && i <= 8; ++i)
      EXPECT_TRUE(me.go({send(1, me.block(), describe_block(i, 8))}, in_ms(2'000)).is_ok()) << i;
    if (rank == 1) return std::this_thread::sleep_for(std::chrono::milliseconds(700));
    std::vector<TransportOp> more(8, send(1, me.block(), describe_block(9, 8)));
    expect_text(me.go(more, in_ms(200)), StatusCode::timeout,
                "rank 1 did not take the blocks announced by rank 0");
  });
}

TEST(MessageTransportTest, LaneToItselfWaitsForALargeReceive) {
  run_with_ports(1, [](int rank, Transport& transport, MessagePort&) {
    Rank me(rank, 1, transport, 200'000);
    const Descriptor d = describe_block(1, 100'000);
    fill(me.block(), 100'000, 0, 1);
    EXPECT_TRUE(me.go({send(0, me.block(), d), recv(0, me.block(100'000), d)}).is_ok());
    EXPECT_TRUE(holds(me.block(100'000), 100'000, 0, 1));
    expect_text(me.go({send(0, me.block(), d)}, in_ms(100)), StatusCode::timeout, "rank 0 did not receive");
  });
}

TEST(MessageTransportTest, NullPortIsRefused) {
  const auto transport = message_transport([] { return std::unique_ptr<MessagePort>(); })();
  auto group = check(bootstrap_threads(1));
  EXPECT_EQ(transport->can_serve(*group[0]).code(), StatusCode::not_available);
  EXPECT_EQ(transport->connect(*group[0], {}, in_ms(100)).code(), StatusCode::not_available);
  EXPECT_EQ(transport->register_segment(nullptr).code(), StatusCode::invalid_argument);
}

TEST(MessageTransportTest, SecondConnectIsRefused) {
  run_with_ports(1, [](int, Transport& transport, MessagePort&) {
    auto group = check(bootstrap_threads(1));
    EXPECT_EQ(transport.connect(*group[0], {}, in_ms(100)).code(), StatusCode::invalid_argument);
    EXPECT_EQ(transport.path_name(0), "memory");
    EXPECT_TRUE(transport.capabilities().two_sided);
    EXPECT_FALSE(transport.capabilities().direct_read);
  });
}

}  // namespace
}  // namespace ringcomm::conformance
