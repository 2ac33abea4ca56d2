// SPDX-License-Identifier: Apache-2.0
// Communicators over ucx: rotation and ring attention with the oracles of their own suites, the proof that
// nothing of shm is in use, a killed rank, and what a thousand communicators leave behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "attention/ring_harness.hpp"
#include "collectives/rank_data.hpp"
#include "core/try.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/core/text.hpp"
#include "transport/ucx/port_harness.hpp"

namespace ringcomm {
namespace {

CommunicatorOptions over_ucx() {
  CommunicatorOptions options = test::small_options();
  options.transports = {ucx_transport()};
  return options;
}

struct Case {
  test::UcxWay way;
  int ranks = 1;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const test::UcxWay& way : test::ucx_ways()) {
    for (const int ranks : {1, 2, 3, 4, 5, 8}) all.push_back({way, ranks});
  }
  return all;
}

class UcxCommunicatorTest : public testing::TestWithParam<Case> {
 protected:
  test::EnvGuard tls{"UCX_TLS", GetParam().way.tls};
};

constexpr std::int64_t kDim = 6;

/// Blocks differ in size and some are empty; every element says its rank and index.
Status rotate(Communicator& comm, std::int64_t rows_unit) {
  RotationOptions options;
  for (int rank = 0; rank < comm.size(); ++rank)
    options.rows.push_back(rank % 3 == 1 ? 0 : (5 + rank) * rows_unit);
  const std::int64_t rows = options.rows[static_cast<std::size_t>(comm.rank())];
  RINGCOMM_TRY_ASSIGN(const Window window,
                      comm.allocate(static_cast<std::size_t>(2 * rows * kDim) * sizeof(float)));
  float* const data = window.span<float>().data();
  for (std::int64_t i = 0; i < 2 * rows * kDim; ++i) data[i] = test::value_of(comm.rank(), i);
  const TensorView k = TensorView::contiguous(data, DType::float32, {rows, 1, kDim});
  const TensorView v = TensorView::contiguous(data + rows * kDim, DType::float32, {rows, 1, kDim});
  RINGCOMM_TRY_ASSIGN(auto rotation, RingRotation::create(comm.channel(), k, v, options));
  for (int repeat = 0; repeat < 3; ++repeat) {
    RINGCOMM_TRY(rotation.start());
    int steps = 0;
    while (RotationStep step = rotation.next()) {
      const RotationPart& part = step.parts()[0];
      for (std::int64_t i = 0; i < part.row_count * kDim; ++i) {
        RINGCOMM_TRY(
            test::expect(static_cast<const float*>(part.k.data)[i] == test::value_of(part.source, i), "k"));
        RINGCOMM_TRY(test::expect(static_cast<const float*>(part.v.data)[i] ==
                                      test::value_of(part.source, part.row_count * kDim + i),
                                  "v"));
      }
      ++steps;
    }
    RINGCOMM_TRY(rotation.status());
    RINGCOMM_TRY(test::expect(steps == comm.size(), "steps"));
  }
  return {};
}

Status rotate_and_prove(Communicator& comm) {
  RINGCOMM_TRY(rotate(comm, 1));
  RINGCOMM_TRY(rotate(comm, 999));
  for (int peer = 0; peer < comm.size(); ++peer) {
    const std::string_view path = comm.path_name(peer);
    RINGCOMM_TRY(test::expect(path == (peer == comm.rank() ? "self" : "ucx"), concat("path is ", path)));
  }
  // Not one page of shm's: its memory would be a memfd with this name.
  return test::expect(test::mappings_with("memfd:ringcomm") == 0, "a memfd of shm's is mapped");
}

TEST_P(UcxCommunicatorTest, RotationIsRightAndNothingOfShmIsMapped) {
  const Status status = run_processes(GetParam().ranks, rotate_and_prove, over_ucx());
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST_P(UcxCommunicatorTest, RingAttentionEqualsTheOracle) {
  const int ranks = GetParam().ranks;
  const test::Inputs inputs = test::noise_inputs();
  std::vector<AttentionSpec> specs;
  for (const std::int64_t tokens : {1, 67}) {
    for (const AttentionStrategy strategy :
         {AttentionStrategy::automatic, AttentionStrategy::ring_relay, AttentionStrategy::all_gather}) {
      specs.push_back(test::spec_of(tokens));
      specs.back().mask = Mask::causal;
      specs.back().strategy = strategy;
    }
  }
  std::vector<test::Outcome> outcomes;
  for (const AttentionSpec& spec : specs) outcomes.emplace_back(spec, ranks);
  const Status status = run_threads(
      ranks,
      [&](Communicator& comm) -> Status {
        for (std::size_t i = 0; i < specs.size(); ++i)
          RINGCOMM_TRY(test::run_rank(comm, specs[i], inputs, outcomes[i]));
        return {};
      },
      over_ucx());
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  test::OracleCache oracle(inputs);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const test::Difference difference = compare(outcomes[i], oracle.of(specs[i]), specs[i]);
    ASSERT_LE(difference.max_out, test::tolerance(specs[i])) << test::describe(specs[i], ranks);
  }
}

INSTANTIATE_TEST_SUITE_P(Ucx, UcxCommunicatorTest, testing::ValuesIn(cases()), [](const auto& tested) {
  return concat(tested.param.way.name, "_ranks", tested.param.ranks);
});

TEST(UcxChoiceTest, TheVariableForcesUcxWhereShmWouldServe) {
  const test::EnvGuard transports("RINGCOMM_TRANSPORTS", "ucx");
  const Status status = run_processes(3, rotate_and_prove);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(UcxChoiceTest, ByDefaultProcessesOfOneHostUseShmAndUcxIsNotLoaded) {
  const test::EnvGuard transports("RINGCOMM_TRANSPORTS", std::nullopt);
  const Status status = run_processes(2, [](Communicator& comm) {
    const bool is_loaded = test::mappings_with("libringcomm_ucx.so") != 0;
    return test::expect(comm.path_name(1 - comm.rank()) == "shm" && !is_loaded, "shm without ucx");
  });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(UcxLifecycleTest, AThousandCommunicatorsLeaveNothingBehind) {
  const auto cycle = [] {
    const Status status = run_threads(
        2, [](Communicator&) { return Status(); }, over_ucx());
    ASSERT_TRUE(status.is_ok()) << status.to_string();
  };
  for (int i = 0; i < 20; ++i) cycle();
  const int descriptors = test::open_descriptors(), threads = test::threads_of_this_process(),
            mappings = test::mappings_with("");
  for (int i = 0; i < 500 && !testing::Test::HasFailure(); ++i) cycle();  // of two ranks each
  EXPECT_EQ(test::open_descriptors(), descriptors);
  EXPECT_EQ(test::threads_of_this_process(), threads);
  EXPECT_LE(test::mappings_with(""), mappings + test::kHeapMappings);
}

}  // namespace
}  // namespace ringcomm
