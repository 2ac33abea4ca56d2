// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/attention/peak.hpp"

#include <algorithm>

#include "attention/host/vector_kernels.hpp"
#include "ringcomm/core/cpu_dispatch.hpp"

namespace ringcomm::inline v0 {

#if defined(__x86_64__)
namespace {

using Clock = std::chrono::steady_clock;

/// A slice takes about 0.2 ms: shorter than the scheduler's, longer than the clock's error.
constexpr std::int64_t kRoundsPerSlice = 20000;

double best_rate(attention::host::PeakLoop loop, std::chrono::milliseconds duration) {
  const auto end = Clock::now() + duration;
  double best = 0;
  do {
    const auto start = Clock::now();
    const double flop = loop(kRoundsPerSlice);
    const std::chrono::duration<double> seconds = Clock::now() - start;
    best = std::max(best, flop / seconds.count() * 1e-9);
  } while (Clock::now() < end);
  return best;
}

}  // namespace

ComputePeak measure_compute_peak(std::chrono::milliseconds duration, CpuLevel level) {
  namespace host = attention::host;
  level = std::min(level, best_cpu_level());
  if (level == CpuLevel::scalar) return {};
  if (level == CpuLevel::avx2) return {.fp32_fma_gflop_per_s = best_rate(host::avx2_fma_peak_loop, duration)};
  return {.bf16_dot_gflop_per_s = best_rate(host::avx512_dot_peak_loop, duration),
          .fp32_fma_gflop_per_s = best_rate(host::avx512_fma_peak_loop, duration)};
}
#else
ComputePeak measure_compute_peak(std::chrono::milliseconds, CpuLevel) { return {}; }
#endif

ComputePeak measure_compute_peak(std::chrono::milliseconds duration) {
  return measure_compute_peak(duration, best_cpu_level());
}

}  // namespace ringcomm::inline v0
