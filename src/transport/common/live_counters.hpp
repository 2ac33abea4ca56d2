// SPDX-License-Identifier: Apache-2.0
// Counts that one thread at a time adds to while others read them.
#pragma once

#include <atomic>
#include <cstdint>

#include "ringcomm/transport/transport.hpp"

namespace ringcomm::inline v0::transport {

/// TransportCounters in the making.
struct LiveCounters {
  struct Count {
    std::atomic<std::uint64_t> value{0};
    void add(std::uint64_t n) {
      value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
  };
  Count messages, bytes_offered, bytes_copied, bytes_viewed, sleeps;
  void add_to(TransportCounters& sum) const;
};

}  // namespace ringcomm::inline v0::transport
