// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/attention/mask.hpp"

#include <algorithm>

namespace ringcomm::inline v0 {
namespace {

/// An infinite bound stays exactly infinite, so that kernels can compare it.
std::int64_t shifted(std::int64_t bound, std::int64_t shift) {
  const bool is_infinite = bound <= -VisibleBand::kInfinite || bound >= VisibleBand::kInfinite;
  return is_infinite ? bound : bound - shift;
}

/// Pairs (i', j') in [0, q_count) x [0, k_count) with i' - j' <= upper.
std::int64_t pairs_up_to(std::int64_t upper, std::int64_t q_count, std::int64_t k_count) {
  const std::int64_t whole_rows = std::clamp<std::int64_t>(upper + 1, 0, q_count);
  const std::int64_t rows_end = std::clamp<std::int64_t>(upper + k_count, whole_rows, q_count);
  const std::int64_t count = rows_end - whole_rows;
  if (count == 0) return whole_rows * k_count;
  // An arithmetic series: k_count + upper - i' keys for each row i' of [whole_rows, rows_end).
  const std::int64_t ends = 2 * (k_count + upper) - whole_rows - (rows_end - 1);
  const std::int64_t series = count % 2 == 0 ? count / 2 * ends : ends / 2 * count;
  return whole_rows * k_count + series;
}

}  // namespace

VisibleBand band_of(Mask mask) {
  return mask == Mask::causal ? VisibleBand{.lower = 0, .upper = VisibleBand::kInfinite} : VisibleBand{};
}

Rectangle classify(const VisibleBand& band, std::int64_t q_first, std::int64_t q_count, std::int64_t k_first,
                   std::int64_t k_count) {
  if (q_count <= 0 || k_count <= 0 || band.lower > band.upper) return {};
  const std::int64_t shift = q_first - k_first;
  const std::int64_t distance_min = shift - (k_count - 1);
  const std::int64_t distance_max = shift + (q_count - 1);
  if (distance_max < band.lower || distance_min > band.upper) return {};
  const VisibleBand local{.lower = shifted(band.lower, shift), .upper = shifted(band.upper, shift)};
  const bool is_full = distance_min >= band.lower && distance_max <= band.upper;
  return {.visibility = is_full ? Visibility::full : Visibility::partial, .local = local};
}

std::int64_t visible_pairs(const VisibleBand& band, std::int64_t q_first, std::int64_t q_count,
                           std::int64_t k_first, std::int64_t k_count) {
  const Rectangle rectangle = classify(band, q_first, q_count, k_first, k_count);
  if (rectangle.visibility == Visibility::none) return 0;
  if (rectangle.visibility == Visibility::full) return q_count * k_count;
  return pairs_up_to(rectangle.local.upper, q_count, k_count) -
         pairs_up_to(rectangle.local.lower - 1, q_count, k_count);
}

}  // namespace ringcomm::inline v0
