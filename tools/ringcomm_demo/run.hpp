// SPDX-License-Identifier: Apache-2.0
// One rank's part of the demo, and what all ranks found, gathered on every rank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "check.hpp"
#include "ringcomm/comm/communicator.hpp"

namespace ringcomm::demo {

struct DemoOptions {
  int ranks = 4;
  bool threads = false;         ///< ranks as threads instead of processes
  std::int64_t tokens = 0;      ///< 0: 16,384 with AVX-512 bf16, else 4,096
  std::int64_t check_rows = 0;  ///< per rank; 0: enough for 256 over all ranks
  std::filesystem::path text{};
  std::filesystem::path json{};
};

/// Plain numbers of one rank, as they travel in an all-gather.
struct RankNumbers {
  double seconds = 0, rehearsal_seconds = 0, flop = 0;
  double tensor_bytes = 0, extra_bytes = 0, bytes_copied = 0;
  double rows = 0, error_squares = 0, value_squares = 0, rounding_squares = 0;
  double error_max = 0, lse_error_max = 0, not_finite = 0;
  double effective_keys_count = 0;
};

struct DemoResult {
  DemoOptions options;
  std::string text_name;
  std::string cpu_level;
  std::vector<RankNumbers> ranks;
  std::vector<double> effective_keys;           ///< of all checked rows of all ranks
  std::vector<std::vector<std::string>> paths;  ///< [from][to] transport names
};

/// Runs on each rank; the result is complete on rank 0.
Result<DemoResult> run_rank(Communicator& comm, const DemoOptions& options);

/// Prints the one screen; returns true if the check passed.
bool print_result(const DemoResult& result);
/// The same as JSON.
Status write_json(const DemoResult& result, const std::filesystem::path& file);

}  // namespace ringcomm::demo
