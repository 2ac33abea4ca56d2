// SPDX-License-Identifier: Apache-2.0
// The oracle is operator new itself, replaced in this program: after a warm-up no rank's forward may call it.
#include <gtest/gtest.h>

#include <atomic>

#include "attention/ring_harness.hpp"
#include "support/allocation_count.hpp"

namespace ringcomm {
namespace {

TEST(ForwardAllocationTest, RepeatedRingsAndReplicatedForwardsAllocateNothing) {
  for (const AttentionStrategy strategy :
       {AttentionStrategy::automatic, AttentionStrategy::ring_direct, AttentionStrategy::ring_relay}) {
    AttentionSpec spec;
    spec.tokens = 21;
    spec.head_dim = 64;
    spec.strategy = strategy;
    spec.workers = 2;
    if (strategy == AttentionStrategy::automatic) spec.queries = QueryPlacement::replicated;
    std::atomic<long> before{0}, after{0};
    const auto body = [&](Communicator& comm) -> Status {
      Result<RingAttention> ring = RingAttention::create(comm, spec);
      if (!ring.is_ok()) return ring.status();
      test::fill_all(ring.value(), test::noise_inputs());
      constexpr int kWarmUp = 4, kRounds = 24;
      for (int round = 0; round <= kRounds; ++round) {  // one more than is counted: the peer may still run it
        if (round == kWarmUp && comm.rank() == 0) before = test::allocations();
        if (round == kRounds && comm.rank() == 0) after = test::allocations();
        if (Status done = ring->forward(); !done.is_ok()) return done;
      }
      return {};
    };
    const Status status = run_threads(2, body, test::small_options());
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    EXPECT_GT(before.load(), 0) << "the counter counts";
    EXPECT_EQ(after - before, 0) << "strategy " << static_cast<int>(strategy);
  }
}

}  // namespace
}  // namespace ringcomm
