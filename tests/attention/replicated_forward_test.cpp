// SPDX-License-Identifier: Apache-2.0
// Replicated queries: the oracle is float64 attention, and every rank must have the same bits.
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "attention/attention_plan.hpp"
#include "attention/ring_harness.hpp"

namespace ringcomm {
namespace {

AttentionSpec spec_of(std::int64_t tokens, DType dtype) {
  AttentionSpec spec = test::spec_of(tokens);
  spec.dtype = dtype;
  spec.queries = QueryPlacement::replicated;
  return spec;
}

class ReplicatedQueriesTest : public testing::TestWithParam<int> {};

TEST_P(ReplicatedQueriesTest, AllRanksHaveTheSameBitsOfTheWholeOutput) {
  const int ranks = GetParam();
  const test::Inputs inputs = test::noise_inputs();
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float16}) {
    for (const std::int64_t tokens : {1, 2 * ranks + 3}) {  // few tokens: ranks without keys
      const AttentionSpec spec = spec_of(tokens, dtype);
      std::vector<std::string> bits(static_cast<std::size_t>(ranks));
      test::Outcome outcome(spec, ranks);
      const auto body = [&](Communicator& comm) -> Status {
        Result<RingAttention> ring = RingAttention::create(comm, spec);
        if (!ring.is_ok()) return ring.status();
        EXPECT_EQ(static_cast<std::int64_t>(ring->positions().size()), tokens);
        EXPECT_EQ(ring->q().shape[0], tokens);
        EXPECT_EQ(ring->k().shape[0], ring->shards().rows_of(comm.rank()));
        test::fill_all(ring.value(), inputs);
        if (Status done = ring->forward(); !done.is_ok()) return done;
        bits[static_cast<std::size_t>(comm.rank())] = test::bits_of(ring->out(), ring->lse());
        test::collect(ring.value(), comm.rank(), ring->out(), ring->lse(), outcome);
        return {};
      };
      const Status status = run_threads(ranks, body, test::small_options());
      ASSERT_TRUE(status.is_ok()) << status.to_string();
      for (const std::string& other : bits) ASSERT_TRUE(other == bits[0]) << test::describe(spec, ranks);
      const test::Difference difference = compare(outcome, test::oracle_of(spec, inputs), spec);
      ASSERT_LE(difference.max_out, test::tolerance(spec)) << test::describe(spec, ranks);
      ASSERT_LE(difference.max_lse, dtype == DType::float32 ? 1e-4 : 2e-2);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, ReplicatedQueriesTest, testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& param) { return "ranks" + std::to_string(param.param); });

TEST(ReplicatedQueriesTest, MovesPartialsAndNoKeys) {
  const AttentionSpec spec = spec_of(64, DType::bfloat16);
  std::mutex mutex;
  const auto body = [&](Communicator& comm) -> Status {
    Result<RingAttention> ring = RingAttention::create(comm, spec);
    if (!ring.is_ok()) return ring.status();
    test::fill_all(ring.value(), test::noise_inputs());
    const CommunicatorCounters before = comm.counters();
    if (Status done = ring->forward(); !done.is_ok()) return done;
    const CommunicatorCounters after = comm.counters();
    const std::lock_guard lock(mutex);
    EXPECT_EQ(after.bytes_packed, before.bytes_packed) << "the partial lies in a window";
    EXPECT_EQ(ring->report().bytes_copied, 0U);
    return {};
  };
  const Status status = run_threads(4, body, test::small_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
