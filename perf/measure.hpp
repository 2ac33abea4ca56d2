// SPDX-License-Identifier: Apache-2.0
// The loop: warm up, time, check, and bring every rank's numbers to rank 0.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "background.hpp"
#include "case.hpp"
#include "stats.hpp"

namespace ringcomm::perf {

struct Side {
  bool ran = false;
  double time_us = 0;            ///< per operation, over iterations and over ranks as -a says
  Stats us;                      ///< over iterations (without the -K first) of the slowest rank
  std::vector<double> times_us;  ///< [iterations] of the slowest rank
  std::vector<std::vector<double>> rank_times_us;  ///< [ranks][iterations]
  double alone_us = 0;                             ///< --background: time_us without it
  std::int64_t wrong = -1;                         ///< summed over ranks; -1 not checked
};

using Extras = std::vector<std::pair<std::string, double>>;

struct Row {
  RowHead head;
  Side sides[2];          ///< out of place, in place
  Extras extras;          ///< mean over ranks
  std::string timestamp;  ///< when it was finished
};

/// Reduces [ranks][iterations] to one number; the order is the one that -a names.
double average_over_ranks(const std::vector<std::vector<double>>& rank_times_us, Average average);

/// Runs all types, reductions, roots, cycles and sizes; `row_done` is called on rank 0 after each. Returns
/// elements that were wrong, all ranks, all rows.
Result<std::int64_t> measure(Communicator& comm, const Options& options, Case& subject,
                             const std::function<void(const Row&)>& row_done);

/// One side of a prepared case; `background` may be null.
Result<Side> measure_side(Communicator& comm, const Options& options, Case& subject, Buffers buffers,
                          Background* background);

/// The case's further columns, each the mean over ranks; collective.
Result<Extras> mean_extras(Communicator& comm, Case& subject);

/// "2026-11-29 20:30:00", local time.
std::string time_now();

}  // namespace ringcomm::perf
