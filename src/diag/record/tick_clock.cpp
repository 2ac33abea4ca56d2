// SPDX-License-Identifier: Apache-2.0
#include "diag/record/tick_clock.hpp"

#include <chrono>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::int64_t kCalibrationNs = 2'000'000;

bool has_steady_counter() {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  constexpr unsigned kInvariantTsc = 1U << 8;
  return __get_cpuid(0x80000007U, &a, &b, &c, &d) != 0 && (d & kInvariantTsc) != 0;
#else
  return false;
#endif
}

/// The reading of both clocks between which least passed, of several: an interrupt in between spoils one.
Moment closest_of(const TickClock& clock, int attempts) {
  Moment best;
  std::uint64_t least = UINT64_MAX;
  for (int i = 0; i < attempts; ++i) {
    const std::uint64_t before = clock.now();
    const std::int64_t monotonic = now_ns();
    const std::uint64_t after = clock.now();
    if (after - before >= least) continue;
    least = after - before;
    best.ticks = before + least / 2;
    best.monotonic_ns = monotonic;
  }
  return best;
}

TickClock calibrated() {
  TickClock clock{.has_counter = has_steady_counter()};
  if (!clock.has_counter) return clock;
  const Moment first = closest_of(clock, 8);
  while (now_ns() - first.monotonic_ns < kCalibrationNs) continue;
  const Moment last = closest_of(clock, 8);
  if (last.ticks <= first.ticks) return {};  // a counter that stands still or goes back
  clock.ns_per_tick = static_cast<double>(last.monotonic_ns - first.monotonic_ns) /
                      static_cast<double>(last.ticks - first.ticks);
  return clock;
}

}  // namespace

const TickClock& TickClock::of_process() {
  static const TickClock clock = calibrated();
  return clock;
}

Moment moment_of(const TickClock& clock) {
  Moment moment = closest_of(clock, 4);
  const auto realtime = std::chrono::system_clock::now().time_since_epoch();
  moment.realtime_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(realtime).count() -
                       (now_ns() - moment.monotonic_ns);
  return moment;
}

}  // namespace ringcomm::inline v0::diag
