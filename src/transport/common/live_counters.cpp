// SPDX-License-Identifier: Apache-2.0
#include "transport/common/live_counters.hpp"

namespace ringcomm::inline v0::transport {

void LiveCounters::add_to(TransportCounters& sum) const {
  const auto value = [](const Count& count) { return count.value.load(std::memory_order_relaxed); };
  sum.messages += value(messages);
  sum.bytes_offered += value(bytes_offered);
  sum.bytes_copied += value(bytes_copied);
  sum.bytes_viewed += value(bytes_viewed);
  sum.sleeps += value(sleeps);
}

}  // namespace ringcomm::inline v0::transport
