// SPDX-License-Identifier: Apache-2.0
// The loop: warm up, time, check, and bring every rank's numbers to rank 0.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "case.hpp"
#include "stats.hpp"

namespace ringcomm::perf {

struct Side {
  bool ran = false;
  Stats us;                 ///< over the mean of all ranks per iteration
  std::int64_t wrong = -1;  ///< summed over ranks; -1 not checked
};

struct Row {
  RowHead head;
  Side sides[2];                                       ///< out of place, in place
  std::vector<std::pair<std::string, double>> extras;  ///< mean over ranks
};

/// Runs all sizes; `row_done` is called on rank 0 after each. Returns elements that were wrong, all ranks,
/// all sizes.
Result<std::int64_t> measure(Communicator& comm, const Options& options, Case& subject,
                             const std::function<void(const Row&)>& row_done);

}  // namespace ringcomm::perf
