// SPDX-License-Identifier: Apache-2.0
// Wraps any transport and makes it slow: races that need luck become likely, and a wait can be made visible.
#pragma once

#include <chrono>
#include <cstdint>

#include "ringcomm/transport/transport.hpp"

namespace ringcomm::testing_support {

struct DelayOptions {
  std::chrono::microseconds least{0};  ///< before each batch
  std::chrono::microseconds most{0};   ///< drawn evenly from [least, most]
  std::uint64_t seed = 1;              ///< mixed with the rank, so that ranks differ
  /// Delay between the operations of a batch too (each runs alone; sends and recvs stay together).
  bool inside_batches = false;
};

/// Everything else is the wrapped transport's.
TransportFactory delayed_transport(TransportFactory inner, const DelayOptions& options);

}  // namespace ringcomm::testing_support
