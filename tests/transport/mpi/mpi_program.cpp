// SPDX-License-Identifier: Apache-2.0
// Run by mpirun: every rank runs all cases in the same order; what fails on one rank fails the job. The
// oracle is the claims' own, and the float64 attention over whole inputs, of which each rank checks its rows.
#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <thread>
#include <vector>

#include "attention/ring_harness.hpp"
#include "conformance/transport_suite.hpp"
#include "ringcomm/interop/mpi.hpp"
#include "ringcomm/ringcomm.hpp"
#include "transport/mpi/mpi_ranks.hpp"
#include "transport/mpi/port.hpp"

namespace ringcomm::conformance {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(Mpi, TransportConformance, MpiHarness);

constexpr int kRankCounts[] = {1, 2, 3, 4, 5, 8};

/// What this rank computed, against the oracle; rows of the others stay NaN.
void expect_attention(Communicator& comm) {
  const AttentionSpec spec = test::spec_of(97);
  const test::Inputs inputs = test::noise_inputs();
  test::Outcome outcome(spec, comm.size());
  const Status status = test::run_rank(comm, spec, inputs, outcome);
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  const test::OracleResult oracle = test::oracle_of(spec, inputs);
  std::size_t rows = 0;
  double max_lse = 0;
  for (std::size_t i = 0; i < outcome.lse.size(); ++i) {
    if (std::isnan(outcome.lse[i])) continue;
    ++rows;
    max_lse = std::max(max_lse, std::abs(outcome.lse[i] - oracle.lse[i]));
  }
  EXPECT_GT(rows, 0U);
  EXPECT_LT(max_lse, 1e-2);
}

TEST(MpiCommunicatorTest, BarrierAndRingAttention) {
  for (const int ranks : kRankCounts) {
    SCOPED_TRACE(ranks);
    with_ranks(ranks, [&](MPI_Comm mpi) {
      auto group = bootstrap_mpi(mpi, in_ms(30'000));
      ASSERT_TRUE(group.is_ok()) << group.status().to_string();
      CommunicatorOptions options = test::small_options();
      options.transports = {mpi_transport(mpi)};
      auto comm = Communicator::create(std::move(group).value(), options);
      ASSERT_TRUE(comm.is_ok()) << comm.status().to_string();
      EXPECT_EQ(comm.value().size(), ranks);
      for (int round = 0; round < 3; ++round) {
        const Status met = barrier(comm.value().channel()).status();
        EXPECT_TRUE(met.is_ok()) << met.to_string();
      }
      expect_attention(comm.value());
    });
  }
}

// The plug-in, as RINGCOMM_TRANSPORTS=mpi finds it.
TEST(MpiCommunicatorTest, TheTransportIsFoundByName) {
  with_ranks(world_size(), [&](MPI_Comm mpi) {
    auto group = bootstrap_mpi(mpi, in_ms(30'000));
    ASSERT_TRUE(group.is_ok()) << group.status().to_string();
    CommunicatorOptions options = test::small_options();
    options.transports = {mpi_transport()};
    auto comm = Communicator::create(std::move(group).value(), options);
    ASSERT_TRUE(comm.is_ok()) << comm.status().to_string();
    expect_attention(comm.value());
  });
}

TEST(MpiBootstrapTest, GathersBytesOfAnyLengthInRankOrder) {
  for (const int ranks : kRankCounts) {
    with_ranks(ranks, [&](MPI_Comm mpi) {
      auto group = bootstrap_mpi(mpi, in_ms(30'000));
      ASSERT_TRUE(group.is_ok()) << group.status().to_string();
      for (const std::size_t unit : {std::size_t{0}, std::size_t{1}, std::size_t{9'999}}) {
        const int rank = group.value()->rank();
        const std::vector<std::byte> mine(unit * static_cast<std::size_t>(rank + 1),
                                          static_cast<std::byte>(rank));
        const auto all = group.value()->all_gather(mine, in_ms(30'000));
        ASSERT_TRUE(all.is_ok()) << all.status().to_string();
        for (std::size_t r = 0; r < all.value().size(); ++r)
          EXPECT_EQ(all.value()[r], std::vector<std::byte>(unit * (r + 1), static_cast<std::byte>(r)));
      }
    });
  }
}

TEST(MpiBootstrapTest, MissingRankIsNamed) {
  with_ranks(3, [&](MPI_Comm mpi) {
    auto group = bootstrap_mpi(mpi, in_ms(30'000));
    ASSERT_TRUE(group.is_ok());
    if (group.value()->rank() == 1) {  // there, but late: who leaves is named in another way
      std::this_thread::sleep_for(std::chrono::seconds(2));
      return;
    }
    const Status status = group.value()->all_gather({}, in_ms(200)).status();
    EXPECT_EQ(status.code(), StatusCode::timeout);
    EXPECT_NE(status.message().find("rank 1"), std::string_view::npos) << status.to_string();
  });
}

TEST(MpiPortTest, AGroupOfAnotherSizeIsRefused) {
  with_ranks(2, [&](MPI_Comm mpi) {
    auto group = bootstrap_mpi(mpi, in_ms(30'000));
    ASSERT_TRUE(group.is_ok());
    const Status status = mpi_transport(MPI_COMM_SELF)()->can_serve(*group.value());
    EXPECT_EQ(status.code(), StatusCode::not_available);
    EXPECT_NE(status.message().find("has 1 ranks, the group 2"), std::string_view::npos)
        << status.to_string();
    EXPECT_FALSE(mpi_transport(mpi)()->capabilities().survives_peer_death);
  });
}

TEST(RequestCacheTest, RequestsOfTheSameBlockAreUsedAgain) {
  transport::mpi::RequestCache cache(MPI_COMM_SELF);
  std::vector<std::byte> blocks(4096);
  const auto exchange = [&](std::size_t offset) {
    std::byte* const out = blocks.data() + offset;
    std::byte* const in = blocks.data() + 2048 + offset;
    const auto sent = cache.start({.is_send = true, .peer = 0, .tag = 5, .data = out, .bytes = 8});
    const auto received = cache.start({.is_send = false, .peer = 0, .tag = 5, .data = in, .bytes = 8});
    ASSERT_TRUE(sent.is_ok() && received.is_ok());
    EXPECT_EQ(cache.active(), 2U);
    while (!cache.is_done(received.value()).value()) continue;
    while (!cache.is_done(sent.value()).value()) continue;
    EXPECT_EQ(cache.active(), 0U);
  };
  for (int round = 0; round < 10; ++round) exchange(0);
  EXPECT_EQ(cache.size(), 2U);
  for (std::size_t i = 0; i < 200; ++i) exchange(8 * i);
  EXPECT_EQ(cache.size(), transport::mpi::RequestCache::kKeptMax);
  cache.free_all();
}

}  // namespace
}  // namespace ringcomm::conformance

int main(int argc, char** argv) {
  // The least that ringcomm asks for: its calls come from several threads, one at a time.
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  // The others speak only of what failed.
  if (ringcomm::conformance::world_rank() != 0) testing::GTEST_FLAG(brief) = true;
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  MPI_Finalize();
  return failed;
}
