// SPDX-License-Identifier: Apache-2.0
// The attention of one layer, simulated rank by rank and step by step with the exact work of each tile: what
// the timeline draws, and what the closed forms of time.hpp are held against.
#pragma once

#include <cstdint>
#include <vector>

#include "time.hpp"

namespace ringcomm::planner {

struct Bar {
  int rank = 0;
  int step = 0;
  int block = 0;  ///< whose K and V (exchanges: the rank itself)
  bool is_compute = true;
  bool is_outer = false;  ///< the exchange between hosts of a double ring
  double from_us = 0;
  double to_us = 0;
};
struct Schedule {
  int ranks = 1;
  int steps = 1;
  std::vector<Bar> bars{};
  double end_us = 0;
  double compute_us = 0;           ///< of the busiest rank, without waiting
  bool is_transfer_bound = false;  ///< some rank waits for data after its first step
};
/// Forward. At most `steps_max` steps (0: all) are simulated. Cost: ranks x steps.
Schedule simulate(Strategy strategy, const ModelShape& shape, const Work& work, const Split& split,
                  const Fabric& fabric, int steps_max = 0);

}  // namespace ringcomm::planner
