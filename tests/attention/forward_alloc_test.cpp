// SPDX-License-Identifier: Apache-2.0
// The oracle is operator new itself, replaced in this program: after a warm-up no rank's forward may call it.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "attention/ring_harness.hpp"

namespace {

std::atomic<long> allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

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
        if (round == kWarmUp && comm.rank() == 0) before = allocations.load();
        if (round == kRounds && comm.rank() == 0) after = allocations.load();
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
