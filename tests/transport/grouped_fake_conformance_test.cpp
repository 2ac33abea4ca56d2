// SPDX-License-Identifier: Apache-2.0
// The grouped fake meets the shared claims too, and is as strict as its header says.
#include "support/grouped_fake_transport.hpp"

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
    if (rank == 0) {  // the batch waits on the stream behind slow work
      ASSERT_TRUE(me.stream
                      ->enqueue([] {
                        std::this_thread::sleep_for(std::chrono::milliseconds(300));
                        return Status();
                      })
                      .is_ok());
      fill(me.block(), 64, 0, 0);
      EXPECT_TRUE(me.go({send(1, me.block(), d)}).is_ok());
      return;
    }
    const std::vector<TransportOp> batch{recv(0, me.block(), d)};
    ASSERT_TRUE(me.channel->submit(batch, me.stream->view(), in_ms(30'000)).is_ok());
    ASSERT_TRUE(me.stream->synchronize(in_ms(30'000)).is_ok());
    EXPECT_TRUE(holds(me.block(), 64, 0, 0));
  });
}

}  // namespace
}  // namespace ringcomm::conformance
