// SPDX-License-Identifier: Apache-2.0
// Values that say where they come from, and ranks as threads for the tests of collectives.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::test {

/// Exact in float32: which rank, and which of its elements.
inline float value_of(int rank, std::int64_t index) {
  return static_cast<float>(rank * 65536 + static_cast<int>(index % 65536));
}

/// Sleeps 0 to 300 us, from a seed, so that ranks meet in every order.
inline void random_delay(std::uint32_t seed) {
  std::mt19937 random(seed);
  if (random() % 3 != 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
}

/// A failed expectation inside a rank's body, as a Status.
inline Status expect(bool holds, const std::string& what) {
  return holds ? Status() : Status::internal("expectation failed: " + what);
}

inline CommunicatorOptions with_deadline(std::chrono::milliseconds deadline) {
  CommunicatorOptions options;
  options.deadline = deadline;
  options.arena_bytes = 1 << 20;
  return options;
}

}  // namespace ringcomm::test
