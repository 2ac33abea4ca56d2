// SPDX-License-Identifier: Apache-2.0
// The short busy wait before a sleep: a futex wake-up costs 15 to 28 microseconds here, a spun flag 0.05 to
// 0.3 (performance.md §1).
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "ringcomm/core/limits.hpp"

namespace ringcomm::inline v0 {

inline void pause_cpu() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// How many pauses to spend before sleeping: about 25 us, and none on one CPU, where whoever spins keeps the
/// other from running.
inline int spin_pauses() {
  static const int pauses = read_limits().usable_cpus() > 1 ? 1000 : 0;
  return pauses;
}

/// True as soon as `is_done()` holds; false when it did not hold within spin_pauses().
template <class Predicate>
bool spin_until(Predicate is_done) {
  for (int i = spin_pauses(); i > 0; --i) {
    if (is_done()) return true;
    pause_cpu();
  }
  return is_done();
}

}  // namespace ringcomm::inline v0
