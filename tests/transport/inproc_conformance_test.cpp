// SPDX-License-Identifier: Apache-2.0
// Threads over inproc meet the shared claims; those about lanes also with all counters about to wrap.
#include "conformance/transport_suite.hpp"
#include "transport/inproc/transport.hpp"

namespace ringcomm::conformance {
namespace {

struct InprocHarness : ThreadHarness {
  InprocHarness() : ThreadHarness(inproc_transport()) {}
};

struct InprocNearWrapHarness : ThreadHarness {
  static constexpr std::uint32_t kFirstEpoch = 0xfffffff0U;
  InprocNearWrapHarness()
      : ThreadHarness([] { return std::make_unique<transport::inproc::Transport>(kFirstEpoch); }) {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(Inproc, TransportConformance, InprocHarness);

TEST(InprocNearWrapTest, LanesGoOnWhenTheirCountersWrap) {
  InprocNearWrapHarness harness;
  lane_holds_eight_offers(harness);
  ninth_offer_waits(harness);
  thousands_of_messages_keep_order(harness);
  more_sends_than_cells_in_one_batch(harness);
  channels_can_be_reopened_without_end(harness);
}

}  // namespace
}  // namespace ringcomm::conformance
