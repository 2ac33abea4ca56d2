// SPDX-License-Identifier: Apache-2.0
// Threads and processes over shm meet the shared claims; those about lanes also with counters about to wrap.
#include "conformance/transport_suite.hpp"
#include "transport/shm/shm_harness.hpp"

namespace ringcomm::conformance {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(ShmThreads, TransportConformance, ShmThreadHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(ShmProcesses, TransportConformance, ShmProcessHarness);

TEST(ShmNearWrapTest, LanesGoOnWhenTheirCountersWrap) {
  ShmThreadHarness harness(0xfffffff0U);
  lane_holds_eight_offers(harness);
  thousands_of_messages_keep_order(harness);
  more_sends_than_cells_in_one_batch(harness);
}

}  // namespace
}  // namespace ringcomm::conformance
