// SPDX-License-Identifier: Apache-2.0
// Channels are independent of each other, and memory stays as long as somebody may read it.
#include <algorithm>
#include <chrono>
#include <thread>

#include "conformance/transport_suite.hpp"

namespace ringcomm::conformance {
namespace {

constexpr std::size_t kBytes = 512;

void expect_ok(const Status& status) { EXPECT_TRUE(status.is_ok()) << status.to_string(); }

/// One lap of a block round `over`, whose members are `members`.
void lap(Rank& me, TransportChannel& over, const std::vector<int>& members, std::uint32_t sequence,
         int round) {
  const auto at = std::find(members.begin(), members.end(), me.rank) - members.begin();
  const int size = static_cast<int>(members.size());
  const int position = static_cast<int>(at);
  const Descriptor d = describe_block(sequence, kBytes);
  over.announce(d);
  const std::size_t base = 2 * kBytes * static_cast<std::size_t>(round % 8);
  fill(me.block(base), kBytes, me.rank, round);
  expect_ok(me.go(over, {send((position + 1) % size, me.block(base), d),
                         recv((position + size - 1) % size, me.block(base + kBytes), d)}));
  const int from = members[static_cast<std::size_t>((position + size - 1) % size)];
  EXPECT_TRUE(holds(me.block(base + kBytes), kBytes, from, round))
      << "rank " << me.rank << " round " << round;
}

}  // namespace

void channels_with_other_members_interleave(TransportHarness& harness) {
  harness.run(4, [](int rank, Transport& transport) {
    Rank me(rank, 4, transport);
    const std::vector<int> all{0, 1, 2, 3};
    const std::vector<int> half = rank % 2 == 0 ? std::vector{2, 0} : std::vector{1, 3};
    const std::vector<int> three{3, 1, 0};
    const bool is_in_three = rank != 2;
    const auto pair = check(transport.open_channel({.members = half, .ordinal = 1}, in_ms(30'000)));
    std::unique_ptr<TransportChannel> trio;
    if (is_in_three) trio = check(transport.open_channel({.members = three, .ordinal = 1}, in_ms(30'000)));
    std::uint32_t trio_sequence = 0;
    for (int round = 0; round < 50; ++round) {
      const auto sequence = static_cast<std::uint32_t>(round) + 1;
      lap(me, *pair, half, sequence, round);
      if (is_in_three && round % 3 == 0) lap(me, *trio, three, ++trio_sequence, round);
      if (round % 2 == 0) lap(me, *me.channel, all, sequence / 2 + 1, round);
    }
  });
}

void channels_run_in_threads_of_their_own(TransportHarness& harness) {
  harness.run(2, [](int rank, Transport& transport) {
    std::vector<std::thread> threads;
    for (std::uint32_t ordinal = 1; ordinal <= 3; ++ordinal) {
      threads.emplace_back([rank, ordinal, &transport] {
        Rank me(rank, 2, transport, 1 << 16, ordinal);  // registers memory while others exchange
        for (int round = 0; round < 100; ++round)
          lap(me, *me.channel, {0, 1}, static_cast<std::uint32_t>(round) + 1,
              round + static_cast<int>(ordinal));
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

void channels_can_be_reopened_without_end(TransportHarness& harness) {
  harness.run(3, [](int rank, Transport& transport) {
    Rank me(rank, 3, transport);
    const ChannelKey twice{.members = {1, 2, 0}, .ordinal = 4};
    const auto first = check(transport.open_channel(twice, in_ms(30'000)));
    const auto second = check(transport.open_channel(twice, in_ms(30'000)));  // a channel of its own
    lap(me, *second, twice.members, 1, 1);
    lap(me, *first, twice.members, 1, 2);
    for (int round = 0; round < 700; ++round) {
      const std::vector<int> members = round % 2 == 0 ? std::vector{0, 1, 2} : std::vector{2, 1};
      if (round % 2 != 0 && rank == 0) continue;
      const ChannelKey key{.members = members, .ordinal = 5 + static_cast<std::uint32_t>(round % 3)};
      auto channel = transport.open_channel(key, in_ms(30'000));
      ASSERT_TRUE(channel.is_ok()) << "round " << round << ": " << channel.status().to_string();
      lap(me, *channel.value(), members, 1, round);
    }
  });
}

void member_that_does_not_open_is_named(TransportHarness& harness) {
  harness.run(4, [](int rank, Transport& transport) {
    Rank me(rank, 4, transport);
    if (rank == 1 || rank == 2) return std::this_thread::sleep_for(std::chrono::milliseconds(1'000));
    const Status status =
        transport.open_channel({.members = {0, 1, 2, 3}, .ordinal = 9}, in_ms(300)).status();
    EXPECT_EQ(status.code(), StatusCode::timeout);
    EXPECT_NE(status.message().find("rank 1, 2 did not open"), std::string_view::npos) << status.to_string();
  });
}

void wrong_members_are_refused(TransportHarness& harness) {
  harness.run(2, [](int rank, Transport& transport) {
    for (const std::vector<int>& members : {std::vector<int>{}, std::vector{0, 1, 1}, std::vector{0, 1, 2},
                                            std::vector{-1, 0, 1}, std::vector{1 - rank}}) {
      const Status status = transport.open_channel({.members = members, .ordinal = 3}, in_ms(1'000)).status();
      EXPECT_EQ(status.code(), StatusCode::invalid_argument) << status.to_string();
    }
    EXPECT_TRUE(transport.health().is_ok());
  });
}

void deregistered_memory_stays_readable(TransportHarness& harness) {
  harness.run(2, [](int rank, Transport& transport) {
    Rank me(rank, 2, transport);
    if (!me.can.direct_read) return;
    for (std::uint32_t round = 1; round <= 3; ++round) {
      const Descriptor d = describe_block(round, kBytes);
      RemoteView view;
      if (rank == 1) {
        expect_ok(me.go({take(0, view, d)}));
        expect_ok(me.go({send(0, me.block(), d)}));  // "taken": now rank 0 frees it
        expect_ok(me.go({recv(0, me.block(kBytes), d)}));
        EXPECT_TRUE(holds(view.data, kBytes, 0, static_cast<int>(round)));
        expect_ok(me.go({release(0, d)}));
        continue;
      }
      auto window = check(Segment::create({.bytes = kBytes}));
      expect_ok(transport.register_segment(window));
      std::byte* data = window->data();
      fill(data, kBytes, 0, static_cast<int>(round));
      expect_ok(me.go({offer(1, data, d)}));
      expect_ok(me.go({recv(1, me.block(kBytes), d)}));
      transport.deregister_segment(window.get());
      window.reset();
      EXPECT_EQ(me.go({offer(1, data, d)}, in_ms(1'000)).code(), StatusCode::invalid_argument);
      expect_ok(me.go({send(1, me.block(), d)}));
      expect_ok(me.go({reclaim(1, d)}));
    }
  });
}

}  // namespace ringcomm::conformance
