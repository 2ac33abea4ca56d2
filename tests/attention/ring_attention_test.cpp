// SPDX-License-Identifier: Apache-2.0
// What a RingAttention is beside its numbers: report, positions, rehearsal, repetition, several at once. The
// oracles are closed forms, the bits of a second run, and float64 attention.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "attention/ring_harness.hpp"
#include "core/try.hpp"

namespace ringcomm {
namespace {

using test::bits_of;
using test::fill_all;
using test::Outcome;
using test::spec_of;

TEST(RingAttentionTest, PositionsAreTheShardMap) {
  const auto body = [&](Communicator& comm) -> Status {
    for (const Layout layout : {Layout::contiguous, Layout::zigzag}) {
      AttentionSpec spec = spec_of(23);
      spec.layout = layout;
      const Result<RingAttention> ring = RingAttention::create(comm, spec);
      RINGCOMM_TRY(ring.status());
      const ShardMap map = ShardMap::create(layout, 23, comm.size()).value();
      EXPECT_EQ(ring.value().positions(), map.positions(comm.rank()));
      EXPECT_EQ(ring.value().kv_positions(), map.positions(comm.rank()));
      EXPECT_EQ(ring.value().q().shape[0], map.rows_of(comm.rank()));
    }
    return {};
  };
  const Status status = run_threads(3, body, test::small_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(RingAttentionTest, ReportCountsEveryPairOnceOverAllRanks) {
  AttentionSpec spec = spec_of(101);
  const Outcome outcome = test::run_ring(spec, 4, test::noise_inputs());
  std::int64_t pairs = 0;
  for (const AttentionReport& report : outcome.reports) {
    pairs += report.visible_pairs;
    EXPECT_DOUBLE_EQ(report.flop, 4.0 * 64 * 4 * static_cast<double>(report.visible_pairs));
    EXPECT_GT(report.seconds, 0);
    EXPECT_GE(report.wait_seconds, 0);
    EXPECT_LE(report.wait_seconds, report.seconds);
    EXPECT_EQ(report.level, chosen_cpu_level().value());
  }
  EXPECT_EQ(pairs, 101 * 102 / 2);
}

TEST(RingAttentionTest, RehearsalNeedsNoPeerAndChangesNoInput) {
  for (const AttentionStrategy strategy :
       {AttentionStrategy::ring_direct, AttentionStrategy::ring_relay, AttentionStrategy::all_gather}) {
    AttentionSpec spec = spec_of(10);
    spec.strategy = strategy;
    const test::Inputs inputs = test::noise_inputs();
    Outcome outcome(spec, 3);
    const auto body = [&](Communicator& comm) -> Status {
      Result<RingAttention> ring = RingAttention::create(comm, spec);
      RINGCOMM_TRY(ring.status());
      fill_all(ring.value(), inputs);
      if (comm.rank() == 1) RINGCOMM_TRY(ring->rehearse());
      RINGCOMM_TRY(ring->forward());
      test::collect(ring.value(), comm.rank(), ring->out(), ring->lse(), outcome);
      return {};
    };
    const Status status = run_threads(3, body, test::small_options());
    ASSERT_TRUE(status.is_ok()) << status.to_string();
    EXPECT_LE(compare(outcome, test::oracle_of(spec, inputs), spec).max_out, test::tolerance(spec));
  }
}

TEST(RingAttentionTest, AnyRingOrderGivesTheSameAttention) {
  const test::Inputs inputs = test::noise_inputs();
  for (const std::vector<int>& order : {std::vector<int>{0, 2, 1}, std::vector<int>{4, 1, 3, 0, 2}}) {
    for (const AttentionStrategy strategy : {AttentionStrategy::ring_direct, AttentionStrategy::ring_relay}) {
      for (const Layout layout : {Layout::zigzag, Layout::contiguous}) {
        AttentionSpec spec = spec_of(61);
        spec.strategy = strategy;
        spec.layout = layout;
        const auto ranks = static_cast<int>(order.size());
        Outcome outcome(spec, ranks);
        CommunicatorOptions options = test::small_options();
        options.ring_order = order;
        const Status status = run_threads(
            ranks, [&](Communicator& comm) { return test::run_rank(comm, spec, inputs, outcome); }, options);
        ASSERT_TRUE(status.is_ok()) << status.to_string();
        EXPECT_LE(compare(outcome, test::oracle_of(spec, inputs), spec).max_out, test::tolerance(spec));
      }
    }
  }
}

TEST(RingAttentionTest, RepeatedForwardGivesTheSameBits) {
  std::atomic<int> equal{0};
  const auto body = [&](Communicator& comm) -> Status {
    AttentionSpec spec = spec_of(61);
    spec.strategy = AttentionStrategy::ring_relay;
    spec.workers = 2;
    Result<RingAttention> ring = RingAttention::create(comm, spec);
    RINGCOMM_TRY(ring.status());
    fill_all(ring.value(), test::noise_inputs());
    RINGCOMM_TRY(ring->forward());
    const std::string first = bits_of(ring->out(), ring->lse());
    for (int round = 0; round < 5; ++round) {
      RINGCOMM_TRY(ring->forward());
      equal += bits_of(ring->out(), ring->lse()) == first ? 1 : 0;
    }
    return {};
  };
  const Status status = run_threads(3, body, test::small_options());
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(equal.load(), 15);
}

TEST(RingAttentionTest, TwoObjectsOnTwoCommunicatorsDoNotMix) {
  AttentionSpec first = spec_of(37), second = spec_of(50);
  first.strategy = AttentionStrategy::ring_direct;
  second.strategy = AttentionStrategy::ring_relay;
  second.q_heads = 3;
  second.kv_heads = 1;
  second.head_dim = 128;
  second.mask = Mask::full;
  const test::Inputs first_inputs = test::noise_inputs();
  const test::Inputs second_inputs{test::noise(11), test::noise(12), test::noise(13)};
  Outcome first_outcome(first, 3), second_outcome(second, 3);
  auto others = Communicator::create_local(3, test::small_options());
  ASSERT_TRUE(others.is_ok()) << others.status().to_string();
  const auto body = [&](Communicator& comm) -> Status {
    Communicator& other = others.value()[static_cast<std::size_t>(comm.rank())];
    Result<RingAttention> a = RingAttention::create(comm, first);
    RINGCOMM_TRY(a.status());
    Result<RingAttention> b = RingAttention::create(other, second);
    RINGCOMM_TRY(b.status());
    fill_all(a.value(), first_inputs);
    fill_all(b.value(), second_inputs);
    for (int round = 0; round < 3; ++round) {
      RINGCOMM_TRY(a->forward());
      RINGCOMM_TRY(b->forward());
    }
    test::collect(a.value(), comm.rank(), a->out(), a->lse(), first_outcome);
    test::collect(b.value(), comm.rank(), b->out(), b->lse(), second_outcome);
    return {};
  };
  const Status status = run_threads(3, body, test::small_options());
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_LE(compare(first_outcome, test::oracle_of(first, first_inputs), first).max_out,
            test::tolerance(first));
  EXPECT_LE(compare(second_outcome, test::oracle_of(second, second_inputs), second).max_out,
            test::tolerance(second));
}

TEST(RingAttentionTest, FactsAreThoseOfTheVerifiedPlan) {
  const auto body = [&](Communicator& comm) -> Status {
    AttentionSpec spec = spec_of(64);
    spec.strategy = AttentionStrategy::ring_direct;
    const Result<RingAttention> ring = RingAttention::create(comm, spec);
    RINGCOMM_TRY(ring.status());
    EXPECT_EQ(ring.value().facts().tiles, 4U * 9U);
    EXPECT_EQ(ring.value().facts().arena_bytes_max, 0U);
    EXPECT_EQ(ring.value().spec().strategy, AttentionStrategy::ring_direct);
    EXPECT_FLOAT_EQ(ring.value().spec().scale, 0.125F);
    return {};
  };
  const Status status = run_threads(4, body, test::small_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
