// SPDX-License-Identifier: Apache-2.0
// The results as JSON with nccl-tests' key names.
#pragma once

#include <string>
#include <vector>

#include "report_table.hpp"

namespace ringcomm::perf {

/// Everything the text says, and percentiles. The environment is filtered to RINGCOMM_* (whole environments
/// leak tokens).
std::string format_json(const Options& options, const std::vector<std::string>& arguments,
                        const std::vector<RankInfo>& ranks, std::int64_t wrong, const std::vector<Row>& rows);

/// not_available with the reason if the file cannot be written.
Status write_file(const std::string& path, const std::string& text);

}  // namespace ringcomm::perf
