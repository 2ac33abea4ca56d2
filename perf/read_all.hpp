// SPDX-License-Identifier: Apache-2.0
// The first use of a block: every cache line read once, by ringcomm-perf and by the peers alike.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringcomm::perf {

/// Sums 64-bit words.
inline std::uint64_t read_all(const std::byte* data, std::size_t bytes) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(data);
  const std::size_t count = bytes / sizeof(std::uint64_t);
  std::uint64_t lanes[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) lanes[lane] += words[i + lane];
  }
  for (; i < count; ++i) lanes[0] += words[i];
  return lanes[0] + lanes[1] + lanes[2] + lanes[3] + lanes[4] + lanes[5] + lanes[6] + lanes[7];
}

}  // namespace ringcomm::perf
