// SPDX-License-Identifier: Apache-2.0
// What the command line asks for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "check.hpp"
#include "choose.hpp"

namespace ringcomm::planner {

enum ExitCode : int { kOk = 0, kFailed = 1, kUnproved = 2, kUnread = 3, kUsage = 64 };

/// The numbers of the command line that describe machines: what is absent comes from the evidence.
struct MachineOptions {
  std::vector<std::string> evidence{};
  bool is_live = false;
  std::optional<int> hosts{}, gpus{}, nics{};
  std::optional<double> gb_per_s{}, nic_gb_per_s{}, alpha_us{}, nic_alpha_us{}, tflops{}, gpu_gb{};
  std::string calibration{};
  std::string rails = "same-index";
  std::string node_order{};  ///< file
};

/// `check --schedule`.
struct ScheduleOptions {
  std::string file{};  ///< "": none; "-": standard input
  bool is_one_stream = false;
};

struct Options {
  bool is_check = false;
  ScheduleOptions calls{};
  Request request{};  ///< the fabric is filled in later, from `machine` and the evidence
  std::optional<int> ranks{};
  MachineOptions machine{};
  CheckOptions check{};
  bool is_json = false;
  std::string json_file{};
  std::string svg{};
  std::string config{};
  std::vector<std::string> assumed{};       ///< every default that was taken, a phrase each
  std::vector<std::string> ignored{};       ///< keys of the configuration
  std::vector<std::string> not_modelled{};  ///< sentences
};

/// The options, or the exit code to leave with (help and errors have been printed).
struct Parsed {
  Options options{};
  std::optional<int> exit_code{};
};
Parsed parse(int argc, const char* const* argv);

}  // namespace ringcomm::planner
