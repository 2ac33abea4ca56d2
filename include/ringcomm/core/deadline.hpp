// SPDX-License-Identifier: Apache-2.0
// A point on the steady clock at which a wait gives up; every wait in the library takes one.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Nanoseconds on the steady clock (CLOCK_MONOTONIC).
inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

class Deadline {
 public:
  /// Never expires; for tests and for waits that something else bounds.
  constexpr Deadline() = default;
  /// A span too long for the clock never expires; a negative one has expired.
  static Deadline after(std::chrono::nanoseconds span) {
    const std::int64_t now = now_ns();
    return Deadline(span.count() > kNever - now ? kNever : now + span.count());
  }
  static constexpr Deadline at_ns(std::int64_t point_ns) { return Deadline(point_ns); }

  bool is_expired() const { return point_ns_ != kNever && now_ns() >= point_ns_; }
  /// Never negative; a very large number when the deadline never expires.
  std::int64_t remaining_ns() const {
    if (point_ns_ == kNever) return kNever;
    const std::int64_t left_ns = point_ns_ - now_ns();
    return left_ns > 0 ? left_ns : 0;
  }
  constexpr std::int64_t point_ns() const { return point_ns_; }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  constexpr explicit Deadline(std::int64_t point_ns) : point_ns_(point_ns) {}
  std::int64_t point_ns_ = kNever;
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
