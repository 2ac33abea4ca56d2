// SPDX-License-Identifier: Apache-2.0
// The softmax merge for each instruction level; every level gives the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "collectives/softmax_merge.hpp"
#include "ringcomm/core/cpu_dispatch.hpp"

namespace ringcomm::inline v0::collectives {

/// Rows whose statistics are merged together: one 512-bit vector of them.
inline constexpr std::int64_t kMergeLanes = 16;

/// The statistics of rows [first, first + count), count <= kMergeLanes.
struct StatisticsJob {
  MergeKind kind;
  const PartialRows* target;
  std::span<const PartialRows> sources;
  std::int64_t first;
  std::int64_t count;
  float* weights;   ///< [sources][kMergeLanes], written
  float* divisors;  ///< [kMergeLanes], written: what the sum of weighted outs is divided by
};

/// One row of outs: target = (sum of weights[k] * sources[k], k in order) / divisor.
struct RowJob {
  std::byte* target;
  DType target_type;
  const std::byte* const* sources;
  const DType* types;  ///< of the sources
  const float* weights;
  std::int64_t count;  ///< sources; 0 writes zeros
  std::int64_t dim;
  float divisor;
  bool goes_around_caches;  ///< only where the target's row begins on a cache line
};

struct MergeKernels {
  std::string_view name;
  void (*merge_statistics)(const StatisticsJob& job);
  void (*merge_row)(const RowJob& job);
};

/// All that run on this CPU, best first; never empty. For tests and measurements.
std::span<const MergeKernels> merge_kernels();
/// The best of them that a forced level allows.
const MergeKernels& merge_kernels_for(CpuLevel level);
/// The first of them, or what RINGCOMM_DISPATCH allows.
const MergeKernels& best_merge_kernels();

MergeKernels merge_kernels_portable();
MergeKernels merge_kernels_avx2();
MergeKernels merge_kernels_avx512();

}  // namespace ringcomm::inline v0::collectives
