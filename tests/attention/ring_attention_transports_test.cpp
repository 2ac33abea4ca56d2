// SPDX-License-Identifier: Apache-2.0
// The same rings over transports with other capabilities: messages in groups, ordered by a stream. The oracle
// is float64 attention.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attention/ring_harness.hpp"
#include "support/grouped_fake_transport.hpp"

namespace ringcomm {
namespace {

AttentionSpec spec_of(std::int64_t tokens, Mask mask) {
  AttentionSpec spec = test::spec_of(tokens);
  spec.mask = mask;
  return spec;
}

CommunicatorOptions grouped_options() {
  CommunicatorOptions options = test::small_options();
  options.transports = {testing_support::grouped_fake_transport()};
  return options;
}

class RingAttentionGroupedTest : public testing::TestWithParam<int> {};

TEST_P(RingAttentionGroupedTest, EqualsTheOracleWithoutReadingPeers) {
  const int ranks = GetParam();
  const test::Inputs inputs = test::noise_inputs();
  std::vector<AttentionSpec> specs;
  for (const std::int64_t tokens : {0, 1, 2 * ranks - 1, 67}) {
    for (const Mask mask : {Mask::full, Mask::causal}) {
      AttentionSpec spec = spec_of(tokens, mask);
      specs.push_back(spec);  // automatic must choose the relay
      spec.strategy = AttentionStrategy::ring_relay;
      specs.push_back(spec);
      spec.chunk_bytes = 4000;
      specs.push_back(spec);
      spec.chunk_bytes = 0;
      spec.overlap = plan::Overlap::off;
      specs.push_back(spec);
      spec = spec_of(tokens, mask);
      spec.strategy = AttentionStrategy::all_gather;
      specs.push_back(spec);
      spec = spec_of(tokens, mask);
      spec.queries = QueryPlacement::replicated;
      specs.push_back(spec);
    }
  }
  std::vector<test::Outcome> outcomes;
  for (const AttentionSpec& spec : specs) outcomes.emplace_back(spec, ranks);
  const auto body = [&](Communicator& comm) -> Status {
    for (std::size_t index = 0; index < specs.size(); ++index) {
      if (Status done = test::run_rank(comm, specs[index], inputs, outcomes[index]); !done.is_ok())
        return done;
    }
    return {};
  };
  const Status status = run_threads(ranks, body, grouped_options());
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  test::OracleCache oracle(inputs);
  for (std::size_t index = 0; index < specs.size(); ++index) {
    const test::Difference difference = compare(outcomes[index], oracle.of(specs[index]), specs[index]);
    ASSERT_LE(difference.max_out, test::tolerance(specs[index])) << test::describe(specs[index], ranks);
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, RingAttentionGroupedTest, testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& param) { return "ranks" + std::to_string(param.param); });

TEST(RingAttentionGroupedRefusalTest, DirectRingIsRefusedOnAllRanks) {
  const auto body = [](Communicator& comm) -> Status {
    AttentionSpec spec = spec_of(10, Mask::causal);
    spec.strategy = AttentionStrategy::ring_direct;
    const Status status = RingAttention::create(comm, spec).status();
    EXPECT_EQ(status.to_string(),
              "not_available: strategy ring_direct needs a transport that reads peers' memory in place (take "
              "ring_relay)");
    return {};
  };
  const Status status = run_threads(2, body, grouped_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
