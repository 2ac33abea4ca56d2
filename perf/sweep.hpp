// SPDX-License-Identifier: Apache-2.0
// One operation over growing numbers of ranks: where more of them stop paying.
#pragma once

#include <string>
#include <vector>

#include "launch.hpp"
#include "options.hpp"

namespace ringcomm::perf {

/// What one number of ranks achieved at one size. `rate` is work of all ranks per second (RowHead::work).
struct SweepPoint {
  int ranks = 1;
  std::size_t size = 0;
  double time_us = 0;
  double rate = 0;
};

struct SweepVerdict {
  int best_ranks = 1;    ///< fewest ranks within 5 % of the best rate
  double loss = 0;       ///< of the worst point against the best with fewer ranks, 0..1
  int loss_ranks = 0;    ///< where that is
  int loss_against = 0;  ///< the fewer ranks that did better
  bool is_flagged() const { return loss > 0.2; }
};

/// Points of one size, in growing order of ranks. A loss is a point's rate against the best rate of fewer.
SweepVerdict judge_sweep(const std::vector<SweepPoint>& points);

/// 1, 2, 4, ... and `most` itself.
std::vector<int> sweep_ranks(int most);

/// The table and one verdict line per size.
std::string format_sweep(const Options& options, const Launch& launch, const std::vector<SweepPoint>& points);

/// Runs all and prints; ok, or the first failure.
Status run_sweep(const Options& options, const Launch& launch, const CommunicatorOptions& comm_options);

}  // namespace ringcomm::perf
