// SPDX-License-Identifier: Apache-2.0
// Time stamps that cost a few nanoseconds: the processor's time-stamp counter where it runs at one rate.
#pragma once

#include <cstdint>

#include "ringcomm/core/deadline.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace ringcomm::inline v0::diag {

struct TickClock {
  bool has_counter = false;  ///< else ticks are CLOCK_MONOTONIC nanoseconds
  double ns_per_tick = 1;
  /// Measured once per process, in about two milliseconds.
  static const TickClock& of_process();

  std::uint64_t now() const {
#if defined(__x86_64__)
    if (has_counter) return __rdtsc();
#endif
    return static_cast<std::uint64_t>(now_ns());
  }
};

/// The same moment on three clocks.
struct Moment {
  std::uint64_t ticks = 0;
  std::int64_t monotonic_ns = 0, realtime_ns = 0;
};
Moment moment_of(const TickClock& clock);

}  // namespace ringcomm::inline v0::diag
