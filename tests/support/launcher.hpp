// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of a program as launchers do, and collects how each ended, within a bound.
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace ringcomm::test {

using Settings = std::vector<std::pair<std::string, std::string>>;

struct LaunchedRank {
  int exit_code = -1;  ///< -1: ended by a signal, or killed since it was late
  std::string output;  ///< standard output and standard error
};

struct Launch {
  std::vector<std::string> command;  ///< program and arguments
  int ranks = 1;
  Settings settings;  ///< on top of the environment, without any launcher's variables
  std::chrono::seconds limit{60};
};

/// One process per rank with the variables that torchrun sets; another socket holds MASTER_PORT, as
/// torchrun's own store does.
std::vector<LaunchedRank> launch_like_torchrun(const Launch& launch);
/// One process per rank with RINGCOMM_RANK, RINGCOMM_SIZE and RINGCOMM_STORE.
std::vector<LaunchedRank> launch_with_variables(const Launch& launch, const std::string& store);
/// One entry, of mpirun itself: all ranks' output and the exit code of the job.
std::vector<LaunchedRank> launch_by_mpirun(const Launch& launch);
bool has_mpirun();

/// Empty when all ended with 0; else what failed, with its output.
std::string failures_of(const std::vector<LaunchedRank>& ranks);

}  // namespace ringcomm::test
