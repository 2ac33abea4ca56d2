// SPDX-License-Identifier: Apache-2.0
// The grouped fake meets the shared claims too, and is as strict as its header says.
#include "support/grouped_fake_transport.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "conformance/transport_suite.hpp"

namespace ringcomm::conformance {
namespace {

struct GroupedFakeHarness : ThreadHarness {
  GroupedFakeHarness() : ThreadHarness(testing_support::grouped_fake_transport()) {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(GroupedFake, TransportConformance, GroupedFakeHarness);

TEST(GroupedFakeTest, SendAndReceiveOfOneStepInTwoBatchesAreRefused) {
  GroupedFakeHarness harness;
  harness.run(2, [](int rank, Transport& transport) {
    Rank me(rank, 2, transport);
    const Descriptor d = describe_block(1, 64);
    const TransportOp out = send(me.next(), me.block(), d);
    const TransportOp in = recv(me.next(), me.block(64), d);
    Status status = rank == 0 ? me.go({out, in}) : me.go({in});
    if (status.is_ok()) status = me.go({out});
    EXPECT_EQ(status.code(), StatusCode::mismatch) << status.to_string();
    EXPECT_NE(status.message().find("must be in one batch"), std::string_view::npos) << status.to_string();
  });
}

TEST(GroupedFakeTest, TargetsArePoisonedUntilTheSenderHasItsTurn) {
  GroupedFakeHarness harness;
  harness.run(2, [](int rank, Transport& transport) {
    Rank me(rank, 2, transport);
    const Descriptor d = describe_block(1, 64);
    if (rank == 0) {  // its batch never gets its turn
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      return transport.abort(Status::aborted("no turn"));
    }
    fill(me.block(), 64, 1, 0);
    EXPECT_EQ(me.go({recv(0, me.block(), d)}).code(), StatusCode::aborted);
    EXPECT_TRUE(std::all_of(me.block(), me.block(64), [](std::byte b) { return b == std::byte{0xff}; }));
  });
}

TEST(GroupedFakeTest, ASendWaitsOnItsStreamForItsTurn) {
  GroupedFakeHarness harness;
  harness.run(2, [](int rank, Transport& transport) {
    Rank me(rank, 2, transport);
    const Descriptor d = describe_block(1, 64);
    if (rank == 1) {
      EXPECT_TRUE(me.go({recv(0, me.block(), d)}).is_ok());
      EXPECT_TRUE(holds(me.block(), 64, 0, 0));
      return;
    }
    const std::vector<TransportOp> batch{send(1, me.block(), d)};
    const auto write_late = [&me] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      fill(me.block(), 64, 0, 0);
      return Status();
    };
    ASSERT_TRUE(me.stream->enqueue(write_late).is_ok());
    ASSERT_TRUE(me.channel->submit(batch, me.stream->view(), in_ms(30'000)).is_ok());
    EXPECT_TRUE(me.stream->synchronize(in_ms(30'000)).is_ok());
  });
}

}  // namespace
}  // namespace ringcomm::conformance
