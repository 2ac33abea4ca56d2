// SPDX-License-Identifier: Apache-2.0
// What the command line asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ringcomm/attention/ring_attention.hpp"
#include "ringcomm/collectives/ring_rotation.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"

namespace ringcomm::perf {

/// As nccl-tests; 3 is a failed ringcomm call where nccl-tests has a failed NCCL call.
enum ExitCode : int {
  kOk = 0,
  kInternal = 1,
  kLibrary = 3,
  kTimeout = 4,
  kNotAvailable = 5,
  kUsage = 6,
  kWrongData = 7
};

struct Options {
  std::string op;
  std::size_t bytes_min = 32U << 20, bytes_max = 32U << 20, bytes_step = 1U << 20;
  double factor = 0;  ///< > 1: multiply instead of adding bytes_step
  int iterations = 20, warmup = 1, checks = 1;
  int threads = 0, processes = 0;  ///< exactly one is used; neither: one thread per usable CPU, at least 2
  DType dtype = DType::float32;
  std::string json;
  bool per_iteration = false;
  std::int64_t timeout_ms = 0;

  bool full = false, no_read = false, plan_overhead = false;
  double compute_us = 0;
  RotationChoice rotation = RotationChoice::automatic;
  plan::Overlap overlap = plan::Overlap::on;
  std::size_t chunk_bytes = 0;
  std::int64_t head_dim = 128;
  MergeChoice algorithm = MergeChoice::automatic;
  PartialForm form = PartialForm::normalised;
  std::int64_t tokens = 4096;
  int q_heads = 32, kv_heads = 8, workers = 1;
  Mask mask = Mask::causal;
  Layout layout = Layout::zigzag;
  AttentionStrategy strategy = AttentionStrategy::automatic;

  int ranks() const { return processes > 0 ? processes : threads; }
};

/// The options, or the exit code to leave with (help and errors have been printed).
struct Parsed {
  Options options;
  std::optional<int> exit_code;
};
Parsed parse(int argc, char** argv);

}  // namespace ringcomm::perf
