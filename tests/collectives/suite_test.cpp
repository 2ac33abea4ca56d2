// SPDX-License-Identifier: Apache-2.0
// The suite of all collectives (its oracles: tests/conformance/collectives_suite.hpp) with ranks as threads,
// over transports that read in place, pass messages in groups or over a network, and are slow at random.
#include <gtest/gtest.h>

#include "collectives/media.hpp"
#include "conformance/collectives_suite.hpp"
#include "support/delayed_transport.hpp"
#include "support/memory_port.hpp"

namespace ringcomm {
namespace {

using namespace test;

class CollectivesSuiteTest : public testing::TestWithParam<MediumAndRanks> {};

TEST_P(CollectivesSuiteTest, EveryCollectiveKeepsItsPromise) {
  const Status status =
      run_on(GetParam(), [](Communicator& comm) { return conformance::run_collectives_suite(comm); });
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

std::vector<MediumAndRanks> media() {
  std::vector<MediumAndRanks> all = thread_media();
  testing_support::DelayOptions delay;
  delay.most = std::chrono::microseconds(100);
  delay.inside_batches = true;
  all.push_back({"delayed", 3, {testing_support::delayed_transport(inproc_transport(), delay)}});
  testing_support::MemoryPortOptions network;
  network.delay_max = std::chrono::microseconds(50);
  for (const int ranks : {2, 3, 5})
    all.push_back({"message", ranks, {message_transport(testing_support::memory_port(network))}});
#ifdef RINGCOMM_SANITIZED
  std::erase_if(all, [](const MediumAndRanks& medium) { return medium.ranks > 3; });
#endif
  return all;
}

INSTANTIATE_TEST_SUITE_P(Media, CollectivesSuiteTest, testing::ValuesIn(media()), name_of_case);

}  // namespace
}  // namespace ringcomm
