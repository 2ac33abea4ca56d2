// SPDX-License-Identifier: Apache-2.0
// nccl-tests' text: header, columns, footer, so that its readers and parsers work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure.hpp"

namespace ringcomm::perf {

/// What the header says about the ranks; gathered before the first row.
struct RankInfo {
  int rank = 0, pid = 0;
  std::string host, cpus;
  std::vector<std::string> paths;  ///< to each rank
};

/// What holds for the whole run.
struct RunInfo {
  std::string cpu_level;           ///< of the kernels
  std::string device = "host";     ///< the CPU's name
  std::string launch = "threads";  ///< threads, processes or the launcher's name
  std::vector<RankInfo> ranks{};
};

std::string format_header(const Options& options, const RunInfo& run);
/// The three title lines; `extras` are added on the right.
std::string format_titles(const Options& options, const std::vector<std::pair<std::string, double>>& extras);
std::string format_row(const Options& options, const Row& row);

struct Verdict {
  std::int64_t wrong = 0;
  double average_bus = 0;
  std::optional<double> least_bus;  ///< NCCL_TESTS_MIN_BW
  bool bandwidth_is_ok() const { return !least_bus || average_bus >= 0.9 * *least_bus; }
};
Verdict judge(std::int64_t wrong, const std::vector<Row>& rows);
std::string format_footer(const Options& options, const Verdict& verdict);

/// "# Buffers: ..." as header and sweep say it.
std::string describe_buffers(const Options& options);
/// Mean bus bandwidth over all rows and sides that have one; 0 for none.
double average_bus_bandwidth(const std::vector<Row>& rows);
double algorithm_bandwidth(const RowHead& head, const Side& side);
/// `width` columns whatever the value: 2, 1, 0 decimals, then an exponent (as nccl-tests).
std::string format_number(double value, int width);

}  // namespace ringcomm::perf
