// SPDX-License-Identifier: Apache-2.0
// Every rank writes a pattern of its own; whoever reads compares with the pattern, computed again.
#include <algorithm>
#include <functional>
#include <utility>

#include "conformance/transport_suite.hpp"

namespace ringcomm::conformance {
namespace {

constexpr int kRankCounts[] = {1, 2, 3, 4, 5, 8};
constexpr std::size_t kSizes[] = {0, 1, 4097, std::size_t{1} << 20};

void for_each_shape(TransportHarness& harness, const std::function<void(Rank& me, std::size_t bytes)>& body) {
  for (const int ranks : kRankCounts) {
    harness.run(ranks, [&](int rank, Transport& transport) {
      for (const std::size_t bytes : kSizes) {
        SCOPED_TRACE(testing::Message() << "rank " << rank << " of " << ranks << ", " << bytes << " bytes");
        Rank me(rank, ranks, transport, bytes * 2, static_cast<std::uint32_t>(bytes));
        body(me, bytes);
      }
    });
  }
}

void expect_ok(const Status& status) { EXPECT_TRUE(status.is_ok()) << status.to_string(); }

/// One block of the rank's own, offered to all others; `read` gets each peer's and checks it.
using ReadBlock = std::function<Status(Rank& me, int peer, const Descriptor& d, int round)>;
void offer_to_all(Rank& me, std::size_t bytes, const ReadBlock& read) {
  for (int round = 0; round < 2; ++round) {
    const Descriptor d = describe_block(static_cast<std::uint32_t>(round) + 1, bytes, 0);
    fill(me.block(), bytes, me.rank, round);
    me.announce(d);
    std::vector<TransportOp> offers;
    std::vector<TransportOp> reclaims;
    for (int hop = 1; hop < me.size; ++hop) {
      offers.push_back(offer((me.rank + hop) % me.size, me.block(), d));
      reclaims.push_back(reclaim((me.rank + hop) % me.size, d));
    }
    expect_ok(me.go(offers));
    for (int hop = 1; hop < me.size; ++hop)
      expect_ok(read(me, (me.rank + me.size - hop) % me.size, d, round));
    expect_ok(me.go(reclaims));
  }
}

void expect_direct_reads_refused(Rank& me) {
  const Descriptor d = describe_block(1, 16);
  RemoteView view;
  for (const TransportOp& op :
       {offer(0, me.block(), d), take(0, view, d), pull(0, me.block(), d), release(0, d), reclaim(0, d)})
    EXPECT_EQ(me.channel->run({&op, 1}, in_ms(1000)).code(), StatusCode::invalid_argument);
}

}  // namespace

void sends_travel_round_the_ring(TransportHarness& harness) {
  for_each_shape(harness, [](Rank& me, std::size_t bytes) {
    fill(me.block(), bytes, me.rank, 0);
    const int steps = std::max(me.size - 1, 1);
    for (int step = 0; step < steps; ++step) {
      const Descriptor d = describe_block(1, bytes, step);
      std::byte* from = me.block(step % 2 == 0 ? 0 : bytes);
      std::byte* to = me.block(step % 2 == 0 ? bytes : 0);
      // Even ranks list the receive first: the order inside a batch must not matter.
      std::vector<TransportOp> batch{send(me.next(), from, d), recv(me.previous(), to, d)};
      if (me.rank % 2 == 0) std::swap(batch[0], batch[1]);
      expect_ok(me.go(batch));
      const int origin = (me.rank + me.size * steps - step - 1) % me.size;
      EXPECT_TRUE(holds(to, bytes, origin, 0)) << "step " << step;
    }
  });
}

void sends_to_all_proceed_together(TransportHarness& harness) {
  for (const int ranks : kRankCounts) {
    harness.run(ranks, [ranks](int rank, Transport& transport) {
      constexpr std::size_t kBytes = 4097;
      Rank me(rank, ranks, transport, kBytes * static_cast<std::size_t>(ranks + 1));
      fill(me.block(), kBytes, rank, 0);
      const Descriptor d = describe_block(1, kBytes);
      std::vector<TransportOp> batch;
      for (int peer = 0; peer < ranks; ++peer) {
        batch.push_back(recv(peer, me.block(kBytes * static_cast<std::size_t>(peer + 1)), d));
        batch.push_back(send(peer, me.block(), d));
      }
      expect_ok(me.go(batch));
      for (int peer = 0; peer < ranks; ++peer)
        EXPECT_TRUE(holds(me.block(kBytes * static_cast<std::size_t>(peer + 1)), kBytes, peer, 0)) << peer;
    });
  }
}

void offers_are_read_in_place(TransportHarness& harness) {
  for_each_shape(harness, [](Rank& me, std::size_t bytes) {
    if (!me.can.direct_read) return expect_direct_reads_refused(me);
    offer_to_all(me, bytes, [](Rank& reader, int peer, const Descriptor& d, int round) {
      RemoteView view;
      if (Status status = reader.go({take(peer, view, d)}); !status.is_ok()) return status;
      EXPECT_EQ(view.bytes, d.bytes);
      EXPECT_TRUE(holds(view.data, view.bytes, peer, round)) << "from rank " << peer << " in round " << round;
      return reader.go({release(peer, d)});
    });
  });
}

void pulls_copy(TransportHarness& harness) {
  for_each_shape(harness, [](Rank& me, std::size_t bytes) {
    if (!me.can.direct_read) return expect_direct_reads_refused(me);
    offer_to_all(me, bytes, [bytes](Rank& reader, int peer, const Descriptor& d, int round) {
      std::byte* target = reader.block(bytes);
      Status status = reader.go({pull(peer, target, d), release(peer, d)});
      EXPECT_TRUE(holds(target, bytes, peer, round)) << "from rank " << peer << " in round " << round;
      return status;
    });
  });
}

void counters_count(TransportHarness& harness) {
  harness.run(2, [](int rank, Transport& transport) {
    Rank me(rank, 2, transport);
    const Descriptor d = describe_block(1, 1000);
    expect_ok(me.go({send(me.next(), me.block(), d), recv(me.next(), me.block(1000), d)}));
    TransportCounters counted = transport.counters();
    EXPECT_EQ(counted.messages, 1U);
    EXPECT_EQ(counted.bytes_copied, 1000U);
    if (!me.can.direct_read) return;
    RemoteView view;
    const std::vector<TransportOp> there{offer(me.next(), me.block(), d), take(me.next(), view, d)};
    expect_ok(me.go({there[0], there[1], release(me.next(), d), reclaim(me.next(), d)}));
    expect_ok(
        me.go({there[0], pull(me.next(), me.block(1000), d), release(me.next(), d), reclaim(me.next(), d)}));
    me.channel.reset();  // what a closed channel has counted stays counted
    counted = transport.counters();
    EXPECT_EQ(counted.messages, 3U);
    EXPECT_EQ(counted.bytes_offered, 3000U);
    EXPECT_EQ(counted.bytes_viewed, 1000U);
    EXPECT_EQ(counted.bytes_copied, 2000U);
  });
}

}  // namespace ringcomm::conformance
