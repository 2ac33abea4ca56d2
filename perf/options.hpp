// SPDX-License-Identifier: Apache-2.0
// What the command line asks for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

/// -z, as nccl-tests. Our calls block by themselves, so that 0 and 2 are the same.
enum class Blocking : std::uint8_t { none, barrier_inside, no_barrier, barrier_outside };
/// -a: which rank's time is reported.
enum class Average : std::uint8_t { rank0, mean, min, max };
/// -R: what the buffers are. 1 (registered) and 2 (symmetric) are both windows here.
enum class Memory : std::uint8_t { private_memory, window };
/// --result: where softmax_all_reduce leaves merged rows. in_place: with their mergers, who lend them.
enum class ResultPlace : std::uint8_t { as_buffers, private_memory, window, in_place };

/// --local: the work of a ring attention without any communication.
enum class Local : std::uint8_t { none, one_pass, partials };

struct Options {
  std::string op;
  std::size_t bytes_min = 32U << 20, bytes_max = 32U << 20, bytes_step = 1U << 20;
  double factor = 0;  ///< > 1: multiply instead of adding bytes_step
  int iterations = 20, warmup = 1, checks = 1;
  int aggregated = 1, cycles = 1;
  int threads = 0, processes = 0;  ///< both 0: the launcher's ranks, or one thread per usable CPU, at least 2
  std::vector<DType> dtypes{DType::float32};
  std::vector<ReduceOp> redops{ReduceOp::sum};
  int root = 0;
  bool all_roots = false;
  Blocking blocking = Blocking::none;
  Average average = Average::mean;
  Memory memory = Memory::window;
  std::optional<Memory> input_memory;  ///< --input; else as memory
  ResultPlace result = ResultPlace::as_buffers;
  bool cpu_time = false, timestamps = false, memory_report = false;
  int unalign = 0;  ///< elements
  std::string json;
  bool per_iteration = false;
  int per_iteration_skip = 0;
  std::int64_t timeout_ms = 0;
  std::string transports;  ///< as RINGCOMM_TRANSPORTS; empty: the variable or its default

  bool is_cold = false;
  std::size_t cold_bytes = 0;  ///< over all ranks; 0: twice the last cache
  bool sweep = false;
  std::string background;  ///< operation that runs at the same time; empty: none
  std::size_t background_bytes = 1U << 20;
  std::string calibrate;  ///< file for the costs of path classes; empty: no calibration
  bool serve = false;     ///< samples on demand (perf/compare)

  bool full = false, no_read = false, plan_overhead = false;
  double compute_us = 0;
  RotationChoice rotation = RotationChoice::automatic;
  std::optional<plan::Overlap> overlap;  ///< not given: on where there is work to hide a relay behind
  std::size_t chunk_bytes = 0;
  std::int64_t head_dim = 128;
  MergeChoice algorithm = MergeChoice::automatic;
  MergeOrder order = MergeOrder::canonical;
  PartialForm form = PartialForm::normalised;
  std::int64_t tokens = 0;  ///< 0: 4096, and 512 for decode_step (check() fills it in)
  int q_heads = 32, kv_heads = 8, workers = 1;
  std::int64_t queries = 64;
  Local local = Local::none;
  bool limits = false;
  Mask mask = Mask::causal;
  Layout layout = Layout::zigzag;
  AttentionStrategy strategy = AttentionStrategy::automatic;
};

/// "all_gather_perf": what nccl-tests would call the program.
inline std::string program_name(const Options& options) { return options.op + "_perf"; }

/// The options, or the exit code to leave with (help and errors have been printed).
struct Parsed {
  Options options;
  std::optional<int> exit_code;
};
Parsed parse(int argc, char** argv);

}  // namespace ringcomm::perf
