// SPDX-License-Identifier: Apache-2.0
// --calibrate: alpha and beta of the path classes that this machine's ranks have, for the planner.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "options.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/topology/binding.hpp"
#include "ringcomm/topology/cost_model.hpp"
#include "ringcomm/topology/path_class.hpp"
#include "stats.hpp"

namespace ringcomm::perf {

/// Where a rank runs. A package or node of -1 is unknown.
struct RankPlace {
  int host = 0;  ///< rank of the first rank on the same host
  int package = -1;
  int memory_node = -1;
};

/// LOC in one memory node, NODE in one package, SYS between packages, NET between hosts; unknown otherwise.
PathClass class_between(const RankPlace& a, const RankPlace& b);

/// Two ranks for each class that occurs, best class first: the pair with the lowest ranks.
struct CalibrationPair {
  PathClass path_class = PathClass::unknown;
  int from = 0;
  int to = 0;
};
std::vector<CalibrationPair> choose_pairs(const std::vector<RankPlace>& places);

/// One way, microseconds: of 8 bytes, and of `large_bytes`.
struct PairTimes {
  Stats small_us{};
  Stats large_us{};
};
struct ClassResult {
  CalibrationPair pair{};
  std::string transport{};
  PairTimes times{};
};
struct Calibration {
  std::vector<ClassResult> classes{};
  MergeLimits merge{};
  std::size_t large_bytes = 0;
  int samples = 0;
  int ranks = 0;
  std::string launch{};
  std::string cpu{};
  std::string command{};
  std::string date{};
};

/// alpha: the median of 8 bytes. beta: the large block over what its median takes longer. corrupt_data when
/// the large block was not slower.
Status check_times(const ClassResult& result);
double gb_per_s_of(const PairTimes& times, std::size_t large_bytes);

/// How many sizes, smallest first, the first of two ways should serve so that all take the least time
/// (ratios count: a size that noise spoils moves nothing). `times`: [sizes] of both.
std::size_t crossover(const std::vector<std::array<double, 2>>& times);

/// Collective. Not measured (ranks 0) where ranks do not read each other's memory.
Result<MergeLimits> measure_merges(Communicator& comm, const Options& options);

/// Text of the file that CostModel::from_json reads (docs/topology.md).
std::string format_costs(const Calibration& calibration);

/// Ranks that have a pair of every class: two per memory node, at most 64 and at most one per core, at least
/// two.
int calibration_ranks(const std::vector<CoreInfo>& cores);

/// Collective. Rank 0 writes options.calibrate and prints what it wrote. invalid_argument: a single rank;
/// not_available: the file cannot be written, or no rank knows its core.
Status run_calibration(Communicator& comm, const Options& options, Calibration head);

}  // namespace ringcomm::perf
