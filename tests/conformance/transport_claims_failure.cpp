// SPDX-License-Identifier: Apache-2.0
// Faults are planted by one rank doing something else; all ranks must end, in time, with the culprit's name.
#include <chrono>
#include <string>
#include <thread>

#include "conformance/transport_suite.hpp"

namespace ringcomm::conformance {
namespace {

/// Far above what a wait may take to find out (100 ms), far below the deadline.
constexpr std::int64_t kSoonMs = 1'500;
constexpr int kDeadlineMs = 60'000;
constexpr std::size_t kBytes = 256;

void expect_text(const Status& status, StatusCode code, std::initializer_list<std::string_view> pieces) {
  EXPECT_EQ(status.code(), code) << status.to_string();
  for (const std::string_view piece : pieces)
    EXPECT_NE(status.message().find(piece), std::string_view::npos)
        << "'" << piece << "' in " << status.to_string();
}

void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

struct Disagreement {
  std::string name;
  Descriptor theirs;  ///< rank 1's; rank 0 and 2 say describe_block(7, kBytes)
  std::string my_value;
  std::string their_value;
};

std::vector<Disagreement> disagreements() {
  const Descriptor good = describe_block(7, kBytes);
  std::vector<Disagreement> all;
  const auto add = [&](std::string name, auto change, std::string mine, std::string theirs) {
    Descriptor d = good;
    change(d);
    all.push_back({std::move(name), d, std::move(mine), std::move(theirs)});
  };
  add(
      "operation", [](Descriptor& d) { d.op = OpCode::all_gather; }, "ring_rotate", "all_gather");
  add(
      "sequence", [](Descriptor& d) { d.sequence = 8; }, "has 7", "has 8");
  add(
      "block size in bytes", [](Descriptor& d) { d.bytes = 128; }, "has 256", "has 128");
  add(
      "data type", [](Descriptor& d) { d.dtype = DType::float16; }, "bfloat16", "float16");
  add(
      "reduce op", [](Descriptor& d) { d.reduce_op = ReduceOp::softmax_normalised; }, "none", "softmax");
  add(
      "plan signature", [](Descriptor& d) { d.signature = 99; }, "has 17", "has 99");
  return all;
}

/// Rank 0 and 1 exchange a block, rank 2 waits for rank 0.
Status exchange(Rank& me, const Descriptor& d, bool is_direct) {
  if (!is_direct) {
    if (me.rank == 2) return me.go({recv(0, me.block(kBytes), d)}, in_ms(kDeadlineMs));
    return me.go({send(1 - me.rank, me.block(), d), recv(1 - me.rank, me.block(kBytes), d)},
                 in_ms(kDeadlineMs));
  }
  RemoteView view;
  if (me.rank == 2) return me.go({take(0, view, d)}, in_ms(kDeadlineMs));
  if (me.rank == 0) return me.go({offer(1, me.block(), d), reclaim(1, d)}, in_ms(kDeadlineMs));
  return me.go({take(0, view, d), release(0, d)}, in_ms(kDeadlineMs));
}

void expect_both_named(const Status& status, const Disagreement& planted) {
  expect_text(status, StatusCode::mismatch,
              {planted.name + " differs", "rank 0", "rank 1", planted.my_value, planted.their_value});
}

}  // namespace

void mismatch_is_found_by_both_sides(TransportHarness& harness) {
  for (const bool is_direct : {true, false}) {
    for (const Disagreement& planted : disagreements()) {
      harness.run(3, [&](int rank, Transport& transport) {
        SCOPED_TRACE(testing::Message()
                     << planted.name << " on rank " << rank << (is_direct ? ", direct" : ", two-sided"));
        Rank me(rank, 3, transport);
        if (is_direct && !me.can.direct_read) return;
        const Descriptor mine = rank == 1 ? planted.theirs : describe_block(7, kBytes);
        me.announce(mine);
        const std::int64_t started_ns = now_ns();
        const Status status = exchange(me, mine, is_direct);
        expect_both_named(status, planted);
        EXPECT_LT(ms_since(started_ns), kSoonMs);
        // The first failure stays.
        EXPECT_EQ(me.go({send(0, me.block(), mine)}).to_string(), status.to_string());
        EXPECT_EQ(transport.health().to_string(), status.to_string());
      });
    }
  }
}

void mismatch_is_found_while_all_wait(TransportHarness& harness) {
  for (const Disagreement& planted : disagreements()) {
    if (planted.name == "sequence") continue;  // a rank that is late is no mismatch yet
    harness.run(3, [&](int rank, Transport& transport) {
      SCOPED_TRACE(testing::Message() << planted.name << " on rank " << rank);
      Rank me(rank, 3, transport);
      const Descriptor mine = rank == 1 ? planted.theirs : describe_block(7, kBytes);
      if (rank != 2) me.announce(mine);
      const std::int64_t started_ns = now_ns();
      // Nobody sends: only the announcements of rank 0 and 1 can tell.
      const Status status = me.go({recv(me.next(), me.block(), mine)}, in_ms(kDeadlineMs));
      expect_both_named(status, planted);
      EXPECT_LT(ms_since(started_ns), kSoonMs);
    });
  }
}

void release_from_another_operation_is_found(TransportHarness& harness) {
  harness.run(2, [](int rank, Transport& transport) {
    Rank me(rank, 2, transport);
    if (!me.can.direct_read) return;
    const Descriptor d = describe_block(7, kBytes);
    if (rank == 0) {
      const Status status = me.go({offer(1, me.block(), d), reclaim(1, d)}, in_ms(kDeadlineMs));
      expect_text(status, StatusCode::mismatch, {"plan signature differs", "rank 0 has 17", "rank 1 has 99"});
      return;
    }
    Descriptor other = d;
    other.signature = 99;
    RemoteView view;
    const Status status = me.go({take(0, view, d), release(0, other)}, in_ms(kDeadlineMs));
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    // The releasing side learns it by its next wait.
    expect_text(me.go({take(0, view, d)}, in_ms(kDeadlineMs)), StatusCode::mismatch, {"rank 1 has 99"});
  });
}

void missing_rank_is_named(TransportHarness& harness) {
  const int slow = harness.slowness();
  harness.run(4, [slow](int rank, Transport& transport) {
    Rank me(rank, 4, transport);
    Descriptor d = describe_block(6, 0);
    d.op = OpCode::barrier;
    me.announce(d);
    if (rank == 2) {  // stays in barrier #6
      pause_ms(1'000 * slow);
      expect_text(me.go({recv(3, me.block(), d)}), StatusCode::timeout,
                  {"rank 2 did not arrive in barrier #7"});
      return;
    }
    d.sequence = 7;
    me.announce(d);
    pause_ms(50);
    const std::int64_t started_ns = now_ns();
    std::vector<TransportOp> batch;
    for (int peer = 0; peer < 4; ++peer) {
      if (peer == rank) continue;
      batch.push_back(send(peer, me.block(), d));
      batch.push_back(recv(peer, me.block(), d));
    }
    const Status status = me.go(batch, in_ms(200 * slow));
    expect_text(status, StatusCode::timeout,
                {"rank 2 did not arrive in barrier #7", "still in barrier #6", "arrived: rank"});
    EXPECT_LT(ms_since(started_ns), 200 * slow + kSoonMs);
  });
}

void stalled_rank_is_named_by_all(TransportHarness& harness) {
  const int slow = harness.slowness();
  harness.run(4, [slow](int rank, Transport& transport) {
    Rank me(rank, 4, transport);
    const Descriptor d = describe_block(3, kBytes);
    me.announce(d);
    if (rank == 3) return pause_ms(1'000 * slow);  // has entered, does nothing
    // Rank 2 waits for 3, 1 for 2, 0 for 1.
    const std::int64_t started_ns = now_ns();
    Status status = me.go({recv(rank + 1, me.block(), d)}, in_ms(200 * slow));
    EXPECT_EQ(status.code(), StatusCode::timeout) << status.to_string();
    EXPECT_EQ(status.message().find("rank 3"), 0U) << status.to_string();
    EXPECT_LT(ms_since(started_ns), 200 * slow + kSoonMs);
  });
}

void abort_releases_everybody(TransportHarness& harness) {
  for (const int ranks : {1, 2, 5}) {
    harness.run(ranks, [ranks](int rank, Transport& transport) {
      Rank me(rank, ranks, transport);
      if (ranks < 3 && me.can.group_required) return;  // two receives that face each other are refused
      const Descriptor d = describe_block(1, kBytes);
      me.announce(d);
      std::thread other;
      if (rank == ranks - 1) {
        other = std::thread([&transport] {
          pause_ms(100);
          transport.abort(Status::aborted("the user pressed a key"));
        });
      }
      const std::int64_t started_ns = now_ns();
      const Status status = me.go({recv(me.previous(), me.block(), d)}, in_ms(kDeadlineMs));
      expect_text(status, StatusCode::aborted, {"the user pressed a key"});
      EXPECT_LT(ms_since(started_ns), 100 + kSoonMs);
      if (other.joinable()) other.join();
      transport.abort(Status::aborted("too late"));
      EXPECT_EQ(transport.health().to_string(), status.to_string());
      EXPECT_EQ(me.go({send(me.next(), me.block(), d)}).to_string(), status.to_string());
    });
  }
}

void leaving_rank_is_named(TransportHarness& harness) {
  harness.run(3, [](int rank, Transport& transport) {
    Rank me(rank, 3, transport);
    const Descriptor d = describe_block(4, kBytes);
    if (rank == 1) {  // leaves when the others are certainly there
      const Status sent = me.go({send(0, me.block(), d), send(2, me.block(), d)});
      EXPECT_TRUE(sent.is_ok()) << sent.to_string();
      return;
    }
    ASSERT_TRUE(me.go({recv(1, me.block(), d)}).is_ok());
    // Both have theirs now: the failure that one of them tells must not overtake the other's block.
    const int other = 2 - rank;
    ASSERT_TRUE(me.go({send(other, me.block(), d), recv(other, me.block(kBytes), d)}).is_ok());
    const std::int64_t started_ns = now_ns();
    const Status status = me.go({recv(1, me.block(), d)}, in_ms(kDeadlineMs));
    expect_text(status, StatusCode::peer_lost, {"rank 1 has left", "ring_rotate #4"});
    EXPECT_LT(ms_since(started_ns), kSoonMs);
  });
}

void wrong_arguments_change_nothing(TransportHarness& harness) {
  harness.run(2, [](int rank, Transport& transport) {
    Rank me(rank, 2, transport);
    const Descriptor d = describe_block(1, kBytes);
    std::vector<std::byte> elsewhere(kBytes);
    std::vector<TransportOp> wrong{send(2, me.block(), d), send(-1, me.block(), d),
                                   recv(me.next(), nullptr, d)};
    if (me.can.direct_read) {
      RemoteView view;
      TransportOp no_view = take(me.next(), view, d);
      no_view.view = nullptr;
      wrong.insert(wrong.end(),
                   {no_view, offer(me.next(), elsewhere.data(), d), release(me.next(), d),
                    reclaim(me.next(), d), offer(me.next(), me.block(me.segment->bytes() - 1), d)});
    }
    for (std::size_t i = 0; i < wrong.size(); ++i) {
      const Status status =
          me.channel->submit({&wrong[i], 1}, me.stream ? me.stream->view() : StreamView{}, in_ms(1'000));
      EXPECT_EQ(status.code(), StatusCode::invalid_argument) << i << " " << status.to_string();
    }
    const Status good = me.go({send(me.next(), me.block(), d), recv(me.next(), me.block(kBytes), d)});
    EXPECT_TRUE(good.is_ok()) << good.to_string();
    EXPECT_TRUE(transport.health().is_ok());
  });
}

}  // namespace ringcomm::conformance
