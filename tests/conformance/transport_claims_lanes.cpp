// SPDX-License-Identifier: Apache-2.0
// Order and depth of the lanes: the k-th message must hold the pattern of round k.
#include <chrono>
#include <thread>

#include "conformance/transport_suite.hpp"
#include "ringcomm/device/device.hpp"
#include "ringcomm/plan/plan.hpp"

namespace ringcomm::conformance {
namespace {

constexpr std::size_t kBytes = 64;

void expect_ok(const Status& status) { EXPECT_TRUE(status.is_ok()) << status.to_string(); }

std::byte* block_of(Rank& me, int round) { return me.block(kBytes * static_cast<std::size_t>(round % 64)); }

Descriptor round_descriptor(int round) {
  return describe_block(static_cast<std::uint32_t>(round) + 1, kBytes);
}

}  // namespace

void lane_holds_eight_offers(TransportHarness& harness) {
  for (const int offers : {plan::kLaneDepth - 1, plan::kLaneDepth, plan::kLaneDepth + 1}) {
    harness.run(2, [offers](int rank, Transport& transport) {
      Rank me(rank, 2, transport);
      Rank signal(rank, 2, transport, 4096, 1);
      if (!me.can.direct_read) return;
      // Up to the depth nobody has to take anything: rank 1 starts when rank 0 has offered all of them.
      const Descriptor go = round_descriptor(100);
      const bool fits = offers <= plan::kLaneDepth;
      if (rank == 1 && fits) expect_ok(signal.go({recv(0, signal.block(), go)}));
      for (int i = 0; rank == 0 && i < offers; ++i) {
        fill(block_of(me, i), kBytes, rank, i);
        expect_ok(me.go({offer(1, block_of(me, i), round_descriptor(i))}, in_ms(10'000)));
      }
      if (rank == 0 && fits) expect_ok(signal.go({send(1, signal.block(), go)}));
      for (int i = 0; i < offers; ++i) {
        const Descriptor d = round_descriptor(i);
        RemoteView view;
        if (rank == 0) {
          expect_ok(me.go({reclaim(1, d)}));
          continue;
        }
        expect_ok(me.go({take(0, view, d)}));
        EXPECT_TRUE(holds(view.data, view.bytes, 0, i)) << i;
        expect_ok(me.go({release(0, d)}));
      }
    });
  }
}

void ninth_offer_waits(TransportHarness& harness) {
  harness.run(2, [](int rank, Transport& transport) {
    Rank me(rank, 2, transport);
    if (!me.can.direct_read) return;
    for (int i = 0; rank == 0 && i < plan::kLaneDepth; ++i)
      expect_ok(me.go({offer(1, me.block(), round_descriptor(i))}, in_ms(5'000)));
    if (rank == 1) return std::this_thread::sleep_for(std::chrono::milliseconds(1'000));
    const Status status = me.go({offer(1, me.block(), round_descriptor(plan::kLaneDepth))}, in_ms(200));
    EXPECT_EQ(status.code(), StatusCode::timeout) << status.to_string();
    EXPECT_NE(status.message().find("rank 1 did not take"), std::string_view::npos) << status.to_string();
  });
}

void thousands_of_messages_keep_order(TransportHarness& harness) {
  constexpr int kRounds = 3'000;
  harness.run(2, [](int rank, Transport& transport) {
    Rank me(rank, 2, transport);
    const int peer = me.next();
    for (int round = 0; round < kRounds; ++round) {
      const Descriptor d = round_descriptor(round);
      std::byte* mine = block_of(me, round % 8);
      std::byte* copy = block_of(me, 8);
      fill(mine, kBytes, rank, round);
      RemoteView view{.data = copy, .bytes = kBytes};
      const bool is_direct = me.can.direct_read && round % 3 != 0;
      expect_ok(is_direct ? me.go({offer(peer, mine, d), take(peer, view, d)})
                          : me.go({recv(peer, copy, d), send(peer, mine, d)}));
      ASSERT_TRUE(holds(view.data, kBytes, peer, round)) << "round " << round;
      if (is_direct) expect_ok(me.go({release(peer, d), reclaim(peer, d)}));
    }
  });
}

void more_sends_than_cells_in_one_batch(TransportHarness& harness) {
  constexpr int kMessages = 3 * plan::kLaneDepth + 1;
  harness.run(3, [](int rank, Transport& transport) {
    Rank me(rank, 3, transport);
    std::vector<TransportOp> batch;
    for (int i = 0; i < kMessages; ++i) {
      fill(block_of(me, i), kBytes, rank, i);
      batch.push_back(send(me.next(), block_of(me, i), round_descriptor(i)));
    }
    for (int i = 0; i < kMessages; ++i)
      batch.push_back(recv(me.previous(), block_of(me, 32 + i), round_descriptor(i)));
    expect_ok(me.go(batch));
    for (int i = 0; i < kMessages; ++i)
      EXPECT_TRUE(holds(block_of(me, 32 + i), kBytes, me.previous(), i)) << i;
  });
}

void submit_is_ordered_by_the_stream(TransportHarness& harness) {
  harness.run(3, [](int rank, Transport& transport) {
    Rank me(rank, 3, transport);
    const Descriptor d = round_descriptor(0);
    const std::vector<TransportOp> batch{send(me.next(), me.block(), d),
                                         recv(me.previous(), me.block(kBytes), d)};
    if (me.can.stream_ordered) {
      EXPECT_EQ(me.channel->submit(batch, {}, in_ms(1'000)).code(), StatusCode::invalid_argument);
    }
    Stream stream = check(host_device().create_stream({}));
    // The block is written by work queued before the batch, and read by work queued after it.
    expect_ok(stream.enqueue([&me] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      fill(me.block(), kBytes, me.rank, 5);
      return Status();
    }));
    expect_ok(me.channel->submit(batch, stream.view(), in_ms(60'000)));
    bool is_right = false;
    expect_ok(stream.enqueue([&me, &is_right] {
      is_right = holds(me.block(kBytes), kBytes, me.previous(), 5);
      return Status();
    }));
    expect_ok(stream.synchronize(in_ms(60'000)));
    EXPECT_TRUE(is_right);
  });
}

}  // namespace ringcomm::conformance
