// SPDX-License-Identifier: Apache-2.0
// What all subcommands share: the table that main() dispatches on, and how wrong use ends.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ringcomm::doctor {

/// As sysexits.h: wrong use is none of the codes that speak of the machine.
inline constexpr int kExitUsage = 64;

struct Command {
  const char* name;
  const char* summary;
  /// argv[0] is the command's name. Returns the exit code.
  int (*run)(int argc, char** argv);
};
int run_topo(int argc, char** argv);
int run_attach(int argc, char** argv);
int run_env(int argc, char** argv);
int run_export(int argc, char** argv);
int run_hang(int argc, char** argv);
int run_selftest(int argc, char** argv);

/// Parses, or returns the exit code: 0 after --help, 64 with one sentence on standard error. An unknown
/// option is answered with the nearest known one.
std::optional<int> parse_arguments(CLI::App& app, int argc, char** argv);
/// Prints "ringcomm-doctor COMMAND: message" and where help is; returns 64.
int usage_error(const std::string& command, const std::string& message);

}  // namespace ringcomm::doctor
