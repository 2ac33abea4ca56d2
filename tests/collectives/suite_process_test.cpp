// SPDX-License-Identifier: Apache-2.0
// The suite of all collectives with ranks as forked processes over shared memory. This program starts no
// thread before it forks.
#include <gtest/gtest.h>

#include "collectives/rank_data.hpp"
#include "conformance/collectives_suite.hpp"

namespace ringcomm {
namespace {

#ifdef RINGCOMM_SANITIZED
constexpr int kRankCounts[] = {1, 2, 3};
#else
constexpr int kRankCounts[] = {1, 2, 3, 4, 5, 8};
#endif

class CollectivesProcessTest : public testing::TestWithParam<int> {};

TEST_P(CollectivesProcessTest, EveryCollectiveKeepsItsPromiseOverSharedMemory) {
  const Status status = run_processes(
      GetParam(), [](Communicator& comm) { return conformance::run_collectives_suite(comm); },
      test::with_deadline(std::chrono::seconds(30)));
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

INSTANTIATE_TEST_SUITE_P(Ranks, CollectivesProcessTest, testing::ValuesIn(kRankCounts),
                         [](const auto& tested) { return concat("ranks", tested.param); });

}  // namespace
}  // namespace ringcomm
