// SPDX-License-Identifier: Apache-2.0
// The same rings with ranks as processes over shared memory: each child compares its own rows with float64
// attention over the whole inputs, and says so by its exit.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "attention/ring_harness.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm {
namespace {

Status check_rows(const RingAttention& ring, const test::OracleResult& oracle) {
  const AttentionSpec& spec = ring.spec();
  const TensorView out = ring.out();
  for (std::size_t row = 0; row < ring.positions().size(); ++row) {
    const std::int64_t position = ring.positions()[row];
    for (std::int64_t head = 0; head < spec.q_heads; ++head) {
      for (std::int64_t d = 0; d < spec.head_dim; ++d) {
        const auto at = static_cast<std::size_t>((position * spec.q_heads + head) * spec.head_dim + d);
        const double value = test::element(out, static_cast<std::int64_t>(row), head, d);
        if (std::fabs(value - oracle.out[at]) <= test::tolerance(spec)) continue;
        return Status::internal(concat("token ", position, " head ", head, " dim ", d, " is ", value,
                                       " and should be ", oracle.out[at]));
      }
    }
  }
  return {};
}

Status run_all(Communicator& comm) {
  const test::Inputs inputs = test::noise_inputs();
  for (const AttentionStrategy strategy : {AttentionStrategy::automatic, AttentionStrategy::ring_direct,
                                           AttentionStrategy::ring_relay, AttentionStrategy::all_gather}) {
    for (const QueryPlacement queries : {QueryPlacement::sharded, QueryPlacement::replicated}) {
      if (queries == QueryPlacement::replicated && strategy != AttentionStrategy::automatic) continue;
      AttentionSpec spec;
      spec.tokens = 67;
      spec.q_heads = 4;
      spec.kv_heads = 2;
      spec.head_dim = 64;
      spec.strategy = strategy;
      spec.queries = queries;
      test::Outcome outcome(spec, comm.size());
      Result<RingAttention> ring = RingAttention::create(comm, spec);
      if (!ring.is_ok()) return ring.status();
      test::fill_all(ring.value(), inputs);
      for (int round = 0; round < 3; ++round) {
        if (Status done = ring->forward(); !done.is_ok()) return done;
      }
      if (Status equal = check_rows(ring.value(), test::oracle_of(spec, inputs)); !equal.is_ok())
        return equal;
    }
  }
  return {};
}

class RingAttentionProcessesTest : public testing::TestWithParam<int> {};

TEST_P(RingAttentionProcessesTest, EqualsTheOracleForEveryStrategy) {
  const Status status = run_processes(GetParam(), run_all, test::small_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

INSTANTIATE_TEST_SUITE_P(Ranks, RingAttentionProcessesTest, testing::Values(1, 2, 3, 4, 5, 8),
                         [](const auto& param) { return "ranks" + std::to_string(param.param); });

TEST(RingAttentionProcessesTest, WrongSpecOfOneProcessIsNamed) {
  const auto body = [](Communicator& comm) -> Status {
    AttentionSpec spec;
    spec.tokens = comm.rank() == 1 ? 11 : 10;
    spec.head_dim = 64;
    return RingAttention::create(comm, spec).status();
  };
  const Status status = run_processes(2, body, test::small_options());
  EXPECT_NE(status.message().find("tokens is 10 on rank 0 and 11 on rank 1"), std::string_view::npos)
      << status.to_string();
}

TEST(RingAttentionProcessesTest, RankZeroChoosesTheDispatchLevelOfAll) {
  const auto body = [](Communicator& comm) -> Status {
    if (comm.rank() == 0) setenv("RINGCOMM_DISPATCH", "scalar", 1);
    AttentionSpec spec;
    spec.tokens = 10;
    spec.head_dim = 64;
    Result<RingAttention> ring = RingAttention::create(comm, spec);
    if (!ring.is_ok()) return ring.status();
    test::fill_all(ring.value(), test::noise_inputs());
    if (Status done = ring->forward(); !done.is_ok()) return done;
    return ring->report().level == CpuLevel::scalar ? Status() : Status::internal("another level");
  };
  const Status status = run_processes(3, body, test::small_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(RingAttentionProcessesTest, ImpossibleDispatchLevelOfRankZeroIsAnErrorOnAll) {
  const auto body = [](Communicator& comm) -> Status {
    if (comm.rank() == 0) setenv("RINGCOMM_DISPATCH", "abacus", 1);
    AttentionSpec spec;
    spec.tokens = 10;
    const Status status = RingAttention::create(comm, spec).status();
    if (comm.rank() == 0) {
      return status.code() == StatusCode::invalid_argument ? Status() : Status::internal(status.to_string());
    }
    const std::string expected =
        "not_available: rank 0 could not choose its instruction level (RINGCOMM_DISPATCH there)";
    return status.to_string() == expected ? Status() : Status::internal(status.to_string());
  };
  const Status status = run_processes(2, body, test::small_options());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

}  // namespace
}  // namespace ringcomm
