// SPDX-License-Identifier: Apache-2.0
// Runs a program as a user would and keeps what it printed and how it ended.
#pragma once

#include <string>

namespace ringcomm::test {

struct ProgramResult {
  int exit_code = -1;  ///< -1: killed by a signal
  std::string output;  ///< standard output and standard error, as they came
};

/// `command` goes through /bin/sh; it is killed after `seconds_max` (exit code 124).
ProgramResult run_program(const std::string& command, int seconds_max = 60);

}  // namespace ringcomm::test
