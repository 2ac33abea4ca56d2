// SPDX-License-Identifier: Apache-2.0
// The results as JSON with nccl-tests' key names (docs/perf-schema.json).
#pragma once

#include <string>
#include <vector>

#include "report_table.hpp"

namespace ringcomm::perf {

/// Everything the text says, and every iteration's time with -I. Of the environment only what starts with
/// RINGCOMM_, NCCL_, UCX_ or OMPI_MCA_, and CUDA_VISIBLE_DEVICES: whole environments leak tokens.
struct JsonInput {
  std::vector<std::string> arguments{};
  std::string start_time{};
  std::string remark{};
  std::string error{};  ///< why the run ended early, or empty
};
std::string format_json(const Options& options, const RunInfo& run, const JsonInput& input,
                        const Verdict& verdict, const std::vector<Row>& rows);

/// "NAME=value" of the allowed ones among `environment`, in its order.
std::vector<std::string> allowed_environment(const std::vector<std::string>& environment);

/// A new file at `path`, or at path.0, path.1, ... if that exists; claimed before the run, so that a long run
/// does not end with nowhere to write. not_available with the reason.
Result<std::string> claim_file(const std::string& path);
Status write_file(const std::string& path, const std::string& text);

}  // namespace ringcomm::perf
