// SPDX-License-Identifier: Apache-2.0
// The flags by group, and the repairs that nccl-tests' habits need before a parser sees them.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "options.hpp"

namespace ringcomm::perf {

/// A message and the exit code that it deserves.
struct UsageError {
  std::string message;
  int exit_code = kUsage;
};

/// What the words given for -o, -d and -r say; they depend on the operation, so they are read last.
struct Words {
  std::string dtype, redop, root;
};

void add_flags(CLI::App& app, Options& options, Words& words);
/// nccl-tests' switches take 0 or 1 ("-I 1"); here they may stand alone ("-I"): the value is put in.
std::vector<std::string> complete_switches(int argc, char** argv);
/// Reads `words` and checks what single flags cannot.
std::optional<UsageError> check(Options& options, const Words& words);

}  // namespace ringcomm::perf
