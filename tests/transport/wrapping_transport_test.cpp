// SPDX-License-Identifier: Apache-2.0
// The wrappers are tools of other tests: delays must change no result, faults must end every rank and name
// the broken one. The scripts are drawn from seeds and printed.
#include <chrono>

#include "conformance/transport_suite.hpp"
#include "support/delayed_transport.hpp"
#include "support/faulty_transport.hpp"

namespace ringcomm::conformance {
namespace {

using std::chrono::microseconds;
using testing_support::DelayOptions;
using testing_support::Fault;
using testing_support::FaultScript;

TEST(DelayedTransportTest, DelaysChangeNoResult) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const DelayOptions delays{
        .least = microseconds(0), .most = microseconds(400), .seed = seed, .inside_batches = true};
    ThreadHarness harness(testing_support::delayed_transport(inproc_transport(), delays));
    sends_to_all_proceed_together(harness);
    more_sends_than_cells_in_one_batch(harness);
    channels_with_other_members_interleave(harness);
    deregistered_memory_stays_readable(harness);
    mismatch_is_found_while_all_wait(harness);
  }
}

TEST(DelayedTransportTest, TheDelayIsReal) {
  ThreadHarness harness(testing_support::delayed_transport(
      inproc_transport(), {.least = microseconds(20'000), .most = microseconds(20'000)}));
  harness.run(1, [](int rank, Transport& transport) {
    Rank me(rank, 1, transport);
    const std::int64_t started_ns = now_ns();
    EXPECT_TRUE(me.go({}).is_ok());
    EXPECT_TRUE(me.go({}).is_ok());
    EXPECT_GE(ms_since(started_ns), 39);
  });
}

/// Four laps of a ring, then everybody with everybody.
Status run_laps(Rank& me) {
  constexpr std::size_t kBytes = 96;
  for (std::uint32_t lap = 1; lap <= 4; ++lap) {
    const Descriptor d = describe_block(lap, kBytes);
    me.announce(d);
    Status status =
        me.go({send(me.next(), me.block(), d), recv(me.previous(), me.block(kBytes), d)}, in_ms(20'000));
    if (!status.is_ok()) return status;
  }
  const Descriptor last = describe_block(5, kBytes);
  me.announce(last);
  std::vector<TransportOp> batch;
  for (int peer = 0; peer < me.size; ++peer) {
    batch.push_back(send(peer, me.block(), last));
    batch.push_back(recv(peer, me.block(kBytes), last));
  }
  return me.go(batch, in_ms(20'000));
}

void expect_fault_is_told(const FaultScript& script, const Status& status) {
  const std::string culprit = "rank " + std::to_string(script.rank);
  switch (script.fault) {
    case Fault::none:
    case Fault::stop:
      EXPECT_TRUE(status.is_ok()) << status.to_string();
      return;
    case Fault::fail:
      EXPECT_EQ(status.code(), StatusCode::aborted) << status.to_string();
      EXPECT_NE(status.message().find("injected failure of " + culprit), std::string_view::npos)
          << status.to_string();
      return;
    case Fault::corrupt:
    case Fault::mis_size:
      EXPECT_EQ(status.code(), StatusCode::mismatch) << status.to_string();
      EXPECT_NE(status.message().find(culprit), std::string_view::npos) << status.to_string();
      return;
  }
}

TEST(FaultyTransportTest, EveryFaultEndsEveryRankAndNamesTheBrokenOne) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    FaultScript script = testing_support::draw_fault(seed, 3, 4);  // nobody ends before the last batch
    script.stop_for = std::chrono::milliseconds(50);
    SCOPED_TRACE(testing::Message() << "seed " << seed << ": " << testing_support::to_text(script));
    ThreadHarness harness(testing_support::faulty_transport(inproc_transport(), script));
    const std::int64_t started_ns = now_ns();
    harness.run(3, [&](int rank, Transport& transport) {
      Rank me(rank, 3, transport);
      SCOPED_TRACE(testing::Message() << "seed " << seed << " on rank " << rank);
      expect_fault_is_told(script, run_laps(me));
    });
    EXPECT_LT(ms_since(started_ns), 5'000);
  }
}

TEST(FaultyTransportTest, SeedsReachAllFaultsAndRanks) {
  std::vector<bool> faults(5);
  std::vector<bool> ranks(3);
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const FaultScript script = testing_support::draw_fault(seed, 3, 4);
    faults[static_cast<std::size_t>(script.fault)] = true;
    ranks[static_cast<std::size_t>(script.rank)] = true;
  }
  EXPECT_EQ(faults, (std::vector<bool>{false, true, true, true, true}));
  EXPECT_EQ(ranks, (std::vector<bool>{true, true, true}));
}

}  // namespace
}  // namespace ringcomm::conformance
