// SPDX-License-Identifier: Apache-2.0
// The rectangle rule: all the mask logic that layouts, plans and kernels need (attention spec 6.1).
#pragma once

#include <cstdint>
#include <limits>

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

enum class Mask : std::uint8_t { full, causal };

/// Key j is visible to query i iff lower <= i - j <= upper. Signed on purpose: local bounds may be negative.
struct VisibleBand {
  static constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max() / 4;
  std::int64_t lower = -kInfinite;
  std::int64_t upper = kInfinite;
};

/// Bounds on global positions: full sees all, causal has lower 0.
VisibleBand band_of(Mask mask);

enum class Visibility : std::uint8_t { none, partial, full };

/// A rectangle of queries [q_first, q_first + q_count) against keys [k_first, k_first + k_count): how much of
/// it is visible, and the band in local coordinates (i' - j' with i', j' counted from the rectangle's
/// corner).
struct Rectangle {
  Visibility visibility = Visibility::none;
  VisibleBand local{};
};
/// Empty ranges are `none`.
Rectangle classify(const VisibleBand& band, std::int64_t q_first, std::int64_t q_count, std::int64_t k_first,
                   std::int64_t k_count);

/// Visible (query, key) pairs of the rectangle, exactly.
std::int64_t visible_pairs(const VisibleBand& band, std::int64_t q_first, std::int64_t q_count,
                           std::int64_t k_first, std::int64_t k_count);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
