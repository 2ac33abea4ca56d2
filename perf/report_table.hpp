// SPDX-License-Identifier: Apache-2.0
// nccl-tests' text: header, columns, footer, so that its readers and parsers work.
#pragma once

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

std::string format_header(const Options& options, const std::vector<RankInfo>& ranks,
                          const std::string& cpu_level);
/// The two title lines and the unit line; `extras` are added on the right.
std::string format_titles(const Options& options, const std::vector<std::pair<std::string, double>>& extras);
std::string format_row(const Options& options, const Row& row);
std::string format_footer(const Options& options, std::int64_t wrong, const std::vector<Row>& rows);

/// Mean bus bandwidth over all rows and sides that have one; 0 for none.
double average_bus_bandwidth(const std::vector<Row>& rows);
double algorithm_bandwidth(const RowHead& head, const Side& side);

}  // namespace ringcomm::perf
