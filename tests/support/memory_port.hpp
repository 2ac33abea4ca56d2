// SPDX-License-Identifier: Apache-2.0
// A network inside one process, for tests of what stands on MessagePort: mailboxes, copies, seeded delays,
// deaths.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "ringcomm/transport/message_port.hpp"

namespace ringcomm::testing_support {

struct MemoryPortOptions {
  /// Each message and each copy takes up to this long; the order of a pair's messages stays.
  std::chrono::microseconds delay_max{0};
  std::uint64_t seed = 1;
};

/// Ranks are threads. A transfer is done when the receiver has copied.
MessagePortFactory memory_port(const MemoryPortOptions& options = {});

/// Cuts the rank off, as if its process had died: the peers are told by their networks. `port` is a memory
/// port that is connected.
void die(MessagePort& port);

}  // namespace ringcomm::testing_support
