// SPDX-License-Identifier: Apache-2.0
// What inproc does beside moving bytes: connecting, refusing, counting, letting memory go.
#include "transport/inproc/transport.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "conformance/transport_harness.hpp"
#include "support/rank_threads.hpp"
#include "transport/common/lane_channel.hpp"

namespace ringcomm::conformance {
namespace {

TEST(InprocTransportTest, RefusesWhatNeedsAConnectionBeforeThereIsOne) {
  const auto transport = inproc_transport()();
  EXPECT_EQ(transport->name(), "inproc");
  EXPECT_EQ(transport->path_name(0), "inproc");
  EXPECT_EQ(transport->register_segment(check(Segment::create({.bytes = 1}))).code(),
            StatusCode::invalid_argument);
  EXPECT_EQ(transport->open_channel({.members = {0}}, in_ms(100)).status().code(),
            StatusCode::invalid_argument);
  EXPECT_TRUE(transport->health().is_ok());
  EXPECT_EQ(transport->counters().messages, 0U);
}

TEST(InprocTransportTest, ARankThatDoesNotConnectIsNamed) {
  testing_support::run_rank_threads(3, [](Bootstrap& bootstrap) {
    if (bootstrap.rank() == 1) return std::this_thread::sleep_for(std::chrono::milliseconds(800));
    const auto transport = inproc_transport()();
    const Status status = transport->connect(bootstrap, {}, in_ms(200));
    EXPECT_EQ(status.code(), StatusCode::timeout);
    EXPECT_NE(status.message().find("rank 1 of 3 did not join"), std::string_view::npos)
        << status.to_string();
  });
}

TEST(InprocTransportTest, AbortBeforeConnectIsToldToThePeersAfterwards) {
  testing_support::run_rank_threads(2, [](Bootstrap& bootstrap) {
    const auto transport = inproc_transport()();
    if (bootstrap.rank() == 0) transport->abort(Status::aborted("changed my mind"));
    EXPECT_TRUE(transport->connect(bootstrap, {}, in_ms(30'000)).is_ok());
    const auto channel = transport->open_channel({.members = {0, 1}}, in_ms(30'000));
    EXPECT_EQ(channel.status().code(), StatusCode::aborted) << channel.status().to_string();
  });
}

TEST(InprocTransportTest, OneGroupCarriesSeveralCommunicators) {
  testing_support::run_rank_threads(2, [](Bootstrap& bootstrap) {
    const auto first = inproc_transport()();
    const auto second = inproc_transport()();
    ASSERT_TRUE(first->connect(bootstrap, {}, in_ms(30'000)).is_ok());
    ASSERT_TRUE(second->connect(bootstrap, {}, in_ms(30'000)).is_ok());
    first->abort(Status::aborted("only the first"));
    Rank me(bootstrap.rank(), 2, *second);
    const Descriptor d = describe_block(1, 64);
    fill(me.block(), 64, me.rank, 0);
    EXPECT_TRUE(me.go({send(me.next(), me.block(), d), recv(me.next(), me.block(64), d)}).is_ok());
    EXPECT_TRUE(holds(me.block(64), 64, me.next(), 0));
  });
}

TEST(InprocTransportTest, ChannelsMayOutliveTheirTransport) {
  testing_support::run_rank_threads(2, [](Bootstrap& bootstrap) {
    auto transport = inproc_transport()();
    ASSERT_TRUE(transport->connect(bootstrap, {}, in_ms(30'000)).is_ok());
    auto channel = check(transport->open_channel({.members = {0, 1}}, in_ms(30'000)));
    ASSERT_TRUE(bootstrap.all_gather({}, in_ms(30'000)).is_ok());  // both are open before one of them leaves
    transport.reset();
    std::byte target{};
    const TransportOp op = recv(1 - bootstrap.rank(), &target, describe_block(1, 1));
    EXPECT_EQ(channel->run({&op, 1}, in_ms(30'000)).code(), StatusCode::peer_lost);
  });
}

TEST(InprocTransportTest, ADeregisteredSegmentDiesWithItsLastReader) {
  testing_support::run_rank_threads(2, [](Bootstrap& bootstrap) {
    const auto transport = inproc_transport()();
    ASSERT_TRUE(transport->connect(bootstrap, {}, in_ms(30'000)).is_ok());
    Rank me(bootstrap.rank(), 2, *transport);
    std::weak_ptr<Segment> watched;
    if (me.rank == 0) {
      auto window = check(Segment::create({.bytes = 64}));
      watched = window;
      ASSERT_TRUE(transport->register_segment(window).is_ok());
      ASSERT_TRUE(me.go({send(1, window->data(), describe_block(1, 64))}).is_ok());
      transport->deregister_segment(window.get());
      window.reset();
    } else {
      ASSERT_TRUE(me.go({recv(0, me.block(), describe_block(1, 64))}).is_ok());
    }
    // A message from other memory makes the reader let go of what the owner has taken back.
    const Descriptor d = describe_block(2, 64);
    ASSERT_TRUE(me.go({send(me.next(), me.block(), d), recv(me.next(), me.block(64), d)}).is_ok());
    EXPECT_TRUE(watched.expired());
  });
}

TEST(InprocTransportTest, TooManySegmentsAreAnErrorThatSaysSo) {
  testing_support::run_rank_threads(1, [](Bootstrap& bootstrap) {
    const auto transport = inproc_transport()();
    ASSERT_TRUE(transport->connect(bootstrap, {}, in_ms(30'000)).is_ok());
    std::vector<std::shared_ptr<Segment>> kept;
    Status status;
    while (status.is_ok() && kept.size() < 2000) {
      kept.push_back(check(Segment::create({.bytes = 1, .kind = SegmentKind::local})));
      status = transport->register_segment(kept.back());
    }
    EXPECT_EQ(status.code(), StatusCode::out_of_memory) << status.to_string();
    EXPECT_EQ(kept.size(), 1025U);
    transport->deregister_segment(kept[500].get());
    EXPECT_TRUE(transport->register_segment(kept.back()).is_ok());
  });
}

}  // namespace
}  // namespace ringcomm::conformance
