// SPDX-License-Identifier: Apache-2.0
// Ranks rotate blocks of random sizes and pause at random; each reader computes the owner's pattern again.
// Sizes come from the shared seed, pauses from the rank's own. RINGCOMM_TEST_SEED repeats a run.
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <random>

#include "transport/shm/shm_harness.hpp"

namespace ringcomm {
namespace {

using conformance::describe_block;
using conformance::in_ms;
using conformance::Rank;

constexpr std::size_t kBytesMax = 20'000;
constexpr int kDepth = 5;  // offers outstanding towards the next rank
constexpr int kOperations = 25;
constexpr int kSteps = 40;

unsigned test_seed() {
  if (const char* text = std::getenv("RINGCOMM_TEST_SEED")) {
    return static_cast<unsigned>(std::strtoul(text, nullptr, 10));
  }
  return std::random_device{}();
}

class Delays {
 public:
  Delays(unsigned seed, int rank) : random_(seed * 31 + static_cast<unsigned>(rank)) {}
  void maybe_pause() {
    const auto dice = random_() % 16;
    if (dice == 0) ::usleep(static_cast<useconds_t>(random_() % 400));
    if (dice == 1) ::sched_yield();
  }

 private:
  std::mt19937 random_;
};

struct Stress {
  Rank& me;
  Delays delays;
  std::mt19937 shared;  ///< draws the same on all ranks
  std::vector<std::byte> target = std::vector<std::byte>(kBytesMax);

  void run(std::vector<TransportOp> batch) {
    delays.maybe_pause();
    const Status status = me.go(std::move(batch), in_ms(60'000));
    ASSERT_TRUE(status.is_ok()) << status.to_string();
  }

  void read(const Descriptor& d, int round) {
    if (shared() % 2 == 0) {
      run({conformance::pull(me.previous(), target.data(), d), conformance::release(me.previous(), d)});
      EXPECT_TRUE(conformance::holds(target.data(), d.bytes, me.previous(), round))
          << "pulled, round " << round;
      return;
    }
    RemoteView view;
    run({conformance::take(me.previous(), view, d)});
    if (view.data == nullptr) return;
    delays.maybe_pause();
    EXPECT_TRUE(conformance::holds(view.data, d.bytes, me.previous(), round)) << "viewed, round " << round;
    run({conformance::release(me.previous(), d)});
  }

  void operation(std::uint32_t sequence) {
    Descriptor d{};
    for (int step = 0; step < kSteps; ++step) {
      const int round = static_cast<int>(sequence) * kSteps + step;
      d = describe_block(sequence, 1 + shared() % kBytesMax, step);
      if (step == 0) me.announce(d);
      if (step >= kDepth) run({conformance::reclaim(me.next(), d)});
      std::byte* block = me.block(static_cast<std::size_t>(step % kDepth) * kBytesMax);
      conformance::fill(block, d.bytes, me.rank, round);
      run({conformance::offer(me.next(), block, d)});
      read(d, round);
      if (::testing::Test::HasFatalFailure()) return;
    }
    for (int left = 0; left < kDepth; ++left) run({conformance::reclaim(me.next(), d)});
  }
};

void rotate_at_random(int rank, int ranks, Transport& transport, unsigned seed) {
  Rank me(rank, ranks, transport, kDepth * kBytesMax);
  Stress stress{me, Delays(seed, rank), std::mt19937(seed)};
  for (std::uint32_t sequence = 1; sequence <= kOperations; ++sequence) {
    stress.operation(sequence);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

void stress(conformance::TransportHarness& harness) {
  const unsigned seed = test_seed();
  SCOPED_TRACE("RINGCOMM_TEST_SEED=" + std::to_string(seed));
  for (const int ranks : {2, 3, 5}) {
    harness.run(ranks, [&](int rank, Transport& transport) {
      SCOPED_TRACE("RINGCOMM_TEST_SEED=" + std::to_string(seed));
      rotate_at_random(rank, ranks, transport, seed);
    });
  }
}

TEST(ShmStressTest, ThreadsRotateAtRandom) {
  conformance::ShmThreadHarness harness;
  stress(harness);
}

TEST(ShmStressTest, ProcessesRotateAtRandom) {
  conformance::ShmProcessHarness harness;
  stress(harness);
}

}  // namespace
}  // namespace ringcomm
