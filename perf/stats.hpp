// SPDX-License-Identifier: Apache-2.0
// Numbers from samples.
#pragma once

#include <vector>

namespace ringcomm::perf {

struct Stats {
  double min = 0, max = 0, mean = 0, p50 = 0, p95 = 0, p99 = 0, stdev = 0;
  double cv_percent() const { return mean > 0 ? 100 * stdev / mean : 0; }
};

/// Percentiles by the nearest rank (no interpolation); all zero for no samples.
Stats stats_of(std::vector<double> samples);

/// The middle sample (the lower one of two).
double median(std::vector<double> samples);

}  // namespace ringcomm::perf
