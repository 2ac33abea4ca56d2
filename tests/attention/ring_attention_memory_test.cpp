// SPDX-License-Identifier: Apache-2.0
// What a forward costs in memory and traffic: the oracles are the transport's counters and the arena's mark.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attention/attention_plan.hpp"
#include "attention/ring_harness.hpp"
#include "core/try.hpp"

namespace ringcomm {
namespace {

using test::fill_all;
using test::spec_of;

/// What one rank saw of memory and traffic during one forward.
struct Traffic {
  std::uint64_t bytes_copied = 0, bytes_packed = 0, reported = 0;
  std::size_t arena_used = 0, slots = 0;
};

std::vector<Traffic> traffic_of(const AttentionSpec& spec, int ranks) {
  std::vector<Traffic> all(static_cast<std::size_t>(ranks));
  const auto body = [&](Communicator& comm) -> Status {
    Traffic& mine = all[static_cast<std::size_t>(comm.rank())];
    RINGCOMM_TRY(barrier(comm.channel()).status());
    const std::size_t arena_before = comm.counters().arena_high_water_bytes;
    Result<RingAttention> ring = RingAttention::create(comm, spec);
    RINGCOMM_TRY(ring.status());
    fill_all(ring.value(), test::noise_inputs());
    const CommunicatorCounters before = comm.counters();
    RINGCOMM_TRY(ring->forward());
    const CommunicatorCounters after = comm.counters();
    mine.bytes_copied = after.transport.bytes_copied - before.transport.bytes_copied;
    mine.bytes_packed = after.bytes_packed;
    mine.reported = ring->report().bytes_copied;
    mine.arena_used = after.arena_high_water_bytes - arena_before;
    return {};
  };
  const Status status = run_threads(ranks, body, test::small_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  return all;
}

/// Arena that creation itself uses beside the slots: the exchange of the spec's fields.
constexpr std::size_t kExchangeBytesMax = 4096;

TEST(RingAttentionMemoryTest, DirectRingCopiesNothingAndHasNoSlots) {
  for (const int ranks : {2, 8}) {
    AttentionSpec spec = spec_of(64 * ranks);
    spec.strategy = AttentionStrategy::ring_direct;
    for (const Traffic& traffic : traffic_of(spec, ranks)) {
      EXPECT_EQ(traffic.bytes_copied, 0U);
      EXPECT_EQ(traffic.bytes_packed, 0U);
      EXPECT_EQ(traffic.reported, 0U);
      EXPECT_LE(traffic.arena_used, kExchangeBytesMax);
    }
  }
}

TEST(RingAttentionMemoryTest, RelayRingHasTwoSlotsAndCopiesEachHopOnce) {
  for (const int ranks : {2, 8}) {
    AttentionSpec spec = spec_of(64 * ranks);
    spec.strategy = AttentionStrategy::ring_relay;
    spec.mask = Mask::full;
    const std::uint64_t block = 2 * 64 * 2 * 64 * 2;  // K and V, rows, KV heads, dim, bytes: not query heads
    for (const Traffic& traffic : traffic_of(spec, ranks)) {
      EXPECT_EQ(traffic.bytes_copied, block * static_cast<std::uint64_t>(ranks - 1));
      EXPECT_EQ(traffic.reported, traffic.bytes_copied);
      EXPECT_EQ(traffic.bytes_packed, 0U);
      EXPECT_GE(traffic.arena_used, 2 * block);
      EXPECT_LE(traffic.arena_used, 2 * block + kExchangeBytesMax);
    }
  }
}

TEST(RingAttentionMemoryTest, ExtraMemoryDoesNotGrowWithRanks) {
  std::vector<std::size_t> extra;
  for (const int ranks : {2, 8}) {
    AttentionSpec spec = spec_of(64 * ranks);
    spec.strategy = AttentionStrategy::ring_relay;
    extra.push_back(test::run_ring(spec, ranks, test::noise_inputs()).extra_bytes[0]);
  }
  EXPECT_EQ(extra[0], extra[1]);
}

TEST(RingAttentionMemoryTest, ContiguousCausalMovesOnlyWhatIsRead) {
  AttentionSpec spec = spec_of(64 * 4);
  spec.layout = Layout::contiguous;
  spec.strategy = AttentionStrategy::ring_relay;
  const std::vector<Traffic> traffic = traffic_of(spec, 4);
  const std::uint64_t block = attention::kv_bytes(spec, 64);
  for (std::size_t rank = 0; rank < 4; ++rank) EXPECT_EQ(traffic[rank].bytes_copied, block * rank);
}

}  // namespace
}  // namespace ringcomm
