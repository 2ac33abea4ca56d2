// SPDX-License-Identifier: Apache-2.0
// Inputs that find bugs, each with an oracle of its own: closed forms, float64 attention, or the same kernel
// on one rank.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attention/ring_harness.hpp"

namespace ringcomm {
namespace {

using test::Fill;
using test::Outcome;

constexpr AttentionStrategy kStrategies[] = {AttentionStrategy::ring_direct, AttentionStrategy::ring_relay,
                                             AttentionStrategy::all_gather};

AttentionSpec spec_of(std::int64_t tokens, DType dtype, int q_heads = 2, int kv_heads = 1) {
  AttentionSpec spec;
  spec.tokens = tokens;
  spec.q_heads = q_heads;
  spec.kv_heads = kv_heads;
  spec.head_dim = 64;
  spec.dtype = dtype;
  return spec;
}

Fill constant(float value) {
  return [value](auto, auto, auto) { return value; };
}

double out_at(const Outcome& outcome, std::int64_t row) {
  return test::element(outcome.out.view(), row, 1, 17);
}

class RingForwardTest : public testing::TestWithParam<int> {};

TEST_P(RingForwardTest, EqualScoresGiveTheMeanOfVisibleChunkNumbers) {
  const int ranks = GetParam();
  AttentionSpec spec = spec_of(8 * ranks + 3, DType::float32);
  const ShardMap map = ShardMap::create(spec.layout, spec.tokens, ranks).value();
  std::vector<float> chunk_of;
  for (const Chunk& chunk : map.chunks())
    chunk_of.insert(chunk_of.end(), static_cast<std::size_t>(chunk.count), static_cast<float>(chunk.index));
  const Fill v = [&](std::int64_t position, auto, auto) {
    return chunk_of[static_cast<std::size_t>(position)];
  };
  for (const AttentionStrategy strategy : kStrategies) {
    spec.strategy = strategy;
    const Outcome outcome = test::run_ring(spec, ranks, {constant(0), test::noise(2), v});
    double sum = 0;
    for (std::int64_t row = 0; row < spec.tokens; ++row) {
      sum += chunk_of[static_cast<std::size_t>(row)];
      ASSERT_NEAR(out_at(outcome, row), sum / static_cast<double>(row + 1), 1e-4) << row;
      ASSERT_NEAR(outcome.lse[static_cast<std::size_t>(row)], std::log(static_cast<double>(row + 1)), 1e-5);
    }
  }
}

TEST_P(RingForwardTest, HugeScoresStayFiniteAndPickTheirKey) {
  const int ranks = GetParam();
  for (const DType dtype : {DType::float32, DType::bfloat16}) {
    for (const float score : {1e4F, -1e4F}) {
      AttentionSpec spec = spec_of(6 * ranks + 1, dtype);
      spec.scale = 1.0F;
      const std::int64_t huge = 3 * ranks;  // one key whose score is +-1e4; the others' is 0
      const test::Inputs inputs{
          .q = [](auto, auto, auto d) { return d == 0 ? 1.0F : 0.0F; },
          .k = [=](auto position, auto, auto d) { return position == huge && d == 0 ? score : 0.0F; },
          .v = test::noise(3)};
      const test::OracleResult oracle = test::oracle_of(spec, inputs);
      for (const AttentionStrategy strategy : kStrategies) {
        spec.strategy = strategy;
        const test::Difference difference = compare(test::run_ring(spec, ranks, inputs), oracle, spec);
        ASSERT_LE(difference.max_out, test::tolerance(spec)) << test::describe(spec, ranks);
        ASSERT_LE(difference.max_lse, 1e-2) << test::describe(spec, ranks);
      }
    }
  }
}

TEST_P(RingForwardTest, NanKeyReachesExactlyTheRowsThatSeeIt) {
  const int ranks = GetParam();
  AttentionSpec spec = spec_of(5 * ranks + 2, DType::float32);
  const std::int64_t bad = 2 * ranks + 1;
  test::Inputs inputs = test::noise_inputs();
  inputs.k = [bad, good = inputs.k](auto position, auto head, auto d) {
    return position == bad ? NAN : good(position, head, d);
  };
  for (const AttentionStrategy strategy : kStrategies) {
    spec.strategy = strategy;
    const Outcome outcome = test::run_ring(spec, ranks, inputs);
    for (std::int64_t row = 0; row < spec.tokens; ++row)
      ASSERT_EQ(std::isnan(out_at(outcome, row)), row >= bad) << row;
  }
}

TEST_P(RingForwardTest, UnusedSlotsMayHoldNan) {
  const int ranks = GetParam();
  AttentionSpec spec = spec_of(4 * ranks + 3, DType::float32);  // blocks of different size share a slot
  spec.strategy = AttentionStrategy::ring_relay;
  const test::Inputs inputs = test::noise_inputs();
  Outcome outcome(spec, ranks);
  const auto body = [&](Communicator& comm) -> Status {
    {
      Result<ArenaBlock> block = comm.channel().allocate(std::size_t{1} << 19);
      if (!block.is_ok()) return block.status();
      std::fill_n(block->data(), block->bytes(), std::byte{0xFF});
    }
    return test::run_rank(comm, spec, inputs, outcome);
  };
  const Status status = run_threads(ranks, body, test::small_options());
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_LE(compare(outcome, test::oracle_of(spec, inputs), spec).max_out, test::tolerance(spec));
}

INSTANTIATE_TEST_SUITE_P(Ranks, RingForwardTest, testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& param) { return "ranks" + std::to_string(param.param); });

/// Half an ulp of an output near 1.
double half_ulp(DType dtype) { return dtype == DType::bfloat16 ? 0x1p-9 : 0x1p-12; }

TEST(RingAttentionPrecisionTest, ErrorDoesNotGrowWithRanks) {
  const test::Inputs inputs = test::noise_inputs();
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    AttentionSpec spec = spec_of(401, dtype, 4, 2);  // 401 * 4 * 64 > 1e5 elements
    const test::OracleResult oracle = test::oracle_of(spec, inputs);
    const double alone = compare(test::run_ring(spec, 1, inputs), oracle, spec).rms_out;
    double rms_v = 0;
    for (const double value : oracle.out) rms_v += value * value;
    rms_v = std::sqrt(rms_v / static_cast<double>(oracle.out.size()));
    for (const int ranks : {2, 3, 8}) {
      for (const QueryPlacement queries : {QueryPlacement::sharded, QueryPlacement::replicated}) {
        spec.queries = queries;
        const double rms = compare(test::run_ring(spec, ranks, inputs), oracle, spec).rms_out;
        EXPECT_LE(rms, 1.1 * alone + half_ulp(dtype) * rms_v) << test::describe(spec, ranks);
      }
      spec.queries = QueryPlacement::sharded;
    }
  }
}

TEST(RingAttentionPrecisionTest, Float32StaysWithinTheBudgetOfItsKeys) {
  const test::Inputs inputs = test::noise_inputs();
  AttentionSpec spec = spec_of(1021, DType::float32);
  const test::OracleResult oracle = test::oracle_of(spec, inputs);
  for (const int ranks : {1, 3, 8}) {
    const test::Difference difference = compare(test::run_ring(spec, ranks, inputs), oracle, spec);
    EXPECT_LE(difference.max_out, 2e-6 * std::sqrt(1021.0)) << ranks;
  }
}

}  // namespace
}  // namespace ringcomm
