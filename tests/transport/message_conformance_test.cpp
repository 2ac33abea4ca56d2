// SPDX-License-Identifier: Apache-2.0
// The message transport over mailboxes in memory meets the shared claims, at once and with seeded delays.
#include "conformance/transport_suite.hpp"
#include "support/memory_port.hpp"

namespace ringcomm::conformance {
namespace {

struct MessageHarness : ThreadHarness {
  MessageHarness() : ThreadHarness(message_transport(testing_support::memory_port())) {}
};

struct SlowMessageHarness : ThreadHarness {
  SlowMessageHarness()
      : ThreadHarness(message_transport(testing_support::memory_port(
            {.delay_max = std::chrono::microseconds(200), .seed = 20'261'129}))) {}
};

INSTANTIATE_TYPED_TEST_SUITE_P(Message, TransportConformance, MessageHarness);
INSTANTIATE_TYPED_TEST_SUITE_P(SlowMessage, TransportConformance, SlowMessageHarness);

}  // namespace
}  // namespace ringcomm::conformance
