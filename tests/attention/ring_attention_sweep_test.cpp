// SPDX-License-Identifier: Apache-2.0
// The oracle is dense float64 attention over the gathered inputs: every layout, mask and strategy, odd sizes,
// heads, types and dims, on 1 to 8 ranks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attention/ring_harness.hpp"

namespace ringcomm {
namespace {

using test::Outcome;

struct Strategy {
  AttentionStrategy strategy;
  QueryPlacement queries = QueryPlacement::sharded;
  plan::Overlap overlap = plan::Overlap::on;
  std::size_t chunk_bytes = 0;
};

const std::vector<Strategy>& strategies() {
  static const std::vector<Strategy> all{
      {.strategy = AttentionStrategy::automatic},
      {.strategy = AttentionStrategy::ring_direct},
      {.strategy = AttentionStrategy::ring_relay},
      {.strategy = AttentionStrategy::ring_relay, .chunk_bytes = 4000},
      {.strategy = AttentionStrategy::ring_relay, .overlap = plan::Overlap::off},
      {.strategy = AttentionStrategy::all_gather},
      {.strategy = AttentionStrategy::automatic, .queries = QueryPlacement::replicated},
  };
  return all;
}

AttentionSpec with(AttentionSpec spec, const Strategy& strategy) {
  spec.strategy = strategy.strategy;
  spec.queries = strategy.queries;
  spec.overlap = strategy.overlap;
  spec.chunk_bytes = strategy.chunk_bytes;
  return spec;
}

/// The `number`-th of the 18 combinations of heads, types and dims: sweeps walk through them.
AttentionSpec shape(std::int64_t tokens, std::size_t number) {
  struct Heads {
    int q, kv;
  };
  constexpr Heads kHeads[] = {{2, 2}, {4, 2}, {3, 1}};  // MHA, GQA, MQA
  constexpr DType kTypes[] = {DType::float32, DType::bfloat16, DType::float16};
  AttentionSpec spec;
  spec.tokens = tokens;
  spec.q_heads = kHeads[number % 3].q;
  spec.kv_heads = kHeads[number % 3].kv;
  spec.dtype = kTypes[number / 3 % 3];
  spec.head_dim = number / 9 % 2 == 0 ? 64 : 128;
  return spec;
}

/// Few ranks meet every strategy in every combination; many ranks some of them in turn, since creation proves
/// all ranks' plans on every rank.
std::size_t strategies_per_case(int ranks) {
  if (ranks <= 2) return strategies().size();
  return ranks == 3 ? 3 : ranks <= 5 ? 2 : 1;
}

std::vector<AttentionSpec> sweep(int ranks) {
  std::vector<AttentionSpec> specs;
  std::size_t number = 0;
  for (const std::int64_t tokens : {0, 1, 2, 5, 10, 2 * ranks - 1, 2 * ranks, 4 * ranks + 3, 67}) {
    for (const Layout layout : {Layout::contiguous, Layout::zigzag}) {
      for (const Mask mask : {Mask::full, Mask::causal}) {
        for (std::size_t turn = 0; turn < strategies_per_case(ranks); ++turn, ++number) {
          AttentionSpec spec = with(shape(tokens, number), strategies()[number % strategies().size()]);
          spec.layout = layout;
          spec.mask = mask;
          specs.push_back(spec);
        }
      }
    }
  }
  return specs;
}

/// All specs on one set of communicators, one after the other.
void expect_equal_the_oracle(int ranks, const std::vector<AttentionSpec>& specs) {
  const test::Inputs inputs = test::noise_inputs();
  std::vector<Outcome> outcomes;
  for (const AttentionSpec& spec : specs) outcomes.emplace_back(spec, ranks);
  const auto body = [&](Communicator& comm) -> Status {
    for (std::size_t index = 0; index < specs.size(); ++index) {
      Status done = test::run_rank(comm, specs[index], inputs, outcomes[index]);
      if (!done.is_ok())
        return {done.code(), std::string(done.message()) + "\n" + test::describe(specs[index], ranks)};
    }
    return {};
  };
  const Status status = run_threads(ranks, body, test::small_options());
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  test::OracleCache oracle(inputs);
  for (std::size_t index = 0; index < specs.size(); ++index) {
    const test::Difference difference = compare(outcomes[index], oracle.of(specs[index]), specs[index]);
    ASSERT_LE(difference.max_out, test::tolerance(specs[index])) << test::describe(specs[index], ranks);
    ASSERT_LE(difference.max_lse, specs[index].dtype == DType::float32 ? 1e-4 : 2e-2)
        << test::describe(specs[index], ranks);
  }
}

class RingAttentionSweepTest : public testing::TestWithParam<int> {};

TEST_P(RingAttentionSweepTest, EqualsTheOracleForEveryLayoutMaskAndStrategy) {
  expect_equal_the_oracle(GetParam(), sweep(GetParam()));
}

TEST_P(RingAttentionSweepTest, EqualsTheOracleOnShortLengths) {
  const int ranks = GetParam();
  std::vector<AttentionSpec> specs;
  const std::int64_t stride = ranks <= 4 ? 1 : 3;  // layout_test and tile_work_test sweep them all
  for (std::int64_t tokens = 1; tokens <= 4 * ranks + 3; tokens += stride) {
    specs.push_back(shape(tokens, static_cast<std::size_t>(tokens)));
    specs.back().strategy = tokens % 2 == 0 ? AttentionStrategy::ring_direct : AttentionStrategy::ring_relay;
    specs.back().mask = tokens % 3 == 0 ? Mask::full : Mask::causal;
  }
  expect_equal_the_oracle(ranks, specs);
}

TEST_P(RingAttentionSweepTest, EqualsTheOracleOverManyTokens) {
  std::vector<AttentionSpec> specs;
  for (const Strategy& strategy : strategies()) {
    if (GetParam() > 5 && specs.size() == 3) break;
    specs.push_back(with(shape(257, 1 + specs.size()), strategy));
    specs.back().mask = specs.size() % 2 == 0 ? Mask::full : Mask::causal;
  }
  expect_equal_the_oracle(GetParam(), specs);
}

INSTANTIATE_TEST_SUITE_P(Ranks, RingAttentionSweepTest, testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& param) { return "ranks" + std::to_string(param.param); });

TEST(RingAttentionTest, OddLengthOf2999EqualsTheOracleOnThreeAndEightRanks) {
  AttentionSpec spec;
  spec.tokens = 2999;
  spec.head_dim = 64;
  const test::Inputs inputs = test::noise_inputs();
  test::OracleCache oracle(inputs);
  for (const int ranks : {3, 8}) {
    const Outcome outcome = test::run_ring(spec, ranks, inputs);
    EXPECT_LE(compare(outcome, oracle.of(spec), spec).max_out, test::tolerance(spec)) << ranks;
  }
}

}  // namespace
}  // namespace ringcomm
