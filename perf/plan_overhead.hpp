// SPDX-License-Identifier: Apache-2.0
// What a rotation step costs through plan and executor beyond the same step written by hand.
#pragma once

#include "ringcomm/core/result.hpp"

namespace ringcomm::perf {

struct PlanOverhead {
  double executor_ns = 0;      ///< per step, median
  double hand_written_ns = 0;  ///< per step, median
  double overhead_ns() const { return executor_ns - hand_written_ns; }
};

/// One thread plays rank 0 of `ranks`; its peers' flags are always set, so that nothing waits. Both loops do
/// the same flag work: store and check descriptors, acquire and release epochs. Median of 7 interleaved runs
/// of `rounds` rotations.
Result<PlanOverhead> measure_plan_overhead(int ranks, int rounds);

}  // namespace ringcomm::perf
