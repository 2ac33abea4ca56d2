// SPDX-License-Identifier: Apache-2.0
// Lines that a peer has read are slow to write, and very slow where its caches are far: whoever writes such
// lines again and again times that, and goes around the caches while it is slow.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ringcomm::inline v0 {

/// A store buffer holds 64 lines: less is over before the first of them has been written.
inline constexpr std::size_t kTimedLineBytes = 16384;
/// Writing around the caches tells nothing about them: every so many times they are tried again.
inline constexpr std::uint32_t kWritesPerLook = 8;

/// Whether `bytes` that took `ns` were as slow as far lines: below halfway (as ratios) between the two speeds
/// of one core, 9 and 2.3 GB/s (performance spec 0).
constexpr bool was_far(std::size_t bytes, std::int64_t ns) {
  constexpr double kFarBelowBytesPerNs = 4.5;
  return static_cast<double>(bytes) < kFarBelowBytesPerNs * static_cast<double>(ns);
}

}  // namespace ringcomm::inline v0
