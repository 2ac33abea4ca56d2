// SPDX-License-Identifier: Apache-2.0
#include "stats.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ringcomm::perf {
namespace {

double nearest_rank(const std::vector<double>& sorted, double percent) {
  const auto rank = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace

Stats stats_of(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const auto count = static_cast<double>(samples.size());
  Stats stats{.min = samples.front(),
              .max = samples.back(),
              .mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count,
              .p50 = nearest_rank(samples, 50),
              .p95 = nearest_rank(samples, 95),
              .p99 = nearest_rank(samples, 99)};
  double squares = 0;
  for (const double sample : samples) squares += (sample - stats.mean) * (sample - stats.mean);
  stats.stdev = std::sqrt(squares / count);
  return stats;
}

double median(std::vector<double> samples) { return stats_of(std::move(samples)).p50; }

}  // namespace ringcomm::perf
