// SPDX-License-Identifier: Apache-2.0
#include "launch.hpp"

#include <algorithm>

#include "ringcomm/core/limits.hpp"
#include "ringcomm/core/text.hpp"
#include "try.hpp"

namespace ringcomm::perf {
namespace {

std::string launcher_name(LaunchSource source) {
  switch (source) {
    case LaunchSource::ringcomm:
      return "RINGCOMM_*";
    case LaunchSource::torchrun:
      return "torchrun";
    case LaunchSource::open_mpi:
      return "mpirun";
    case LaunchSource::mpich:
      return "mpich";
    default:
      return "slurm";
  }
}

}  // namespace

Result<Launch> choose_launch(const Options& options) {
  auto launched = read_launch_environment();
  if (!launched.is_ok() && launched.status().code() != StatusCode::not_found) return launched.status();
  const bool has_launcher = launched.is_ok() && launched->size > 1;
  if (has_launcher && (options.processes > 0 || options.threads > 1)) {
    return Status::invalid_argument(
        concat(options.threads > 1 ? "-t " : "--procs ", std::max(options.threads, options.processes),
               " and ", launcher_name(launched->source), " with ", launched->size,
               " ranks (ranks are threads, processes or the launcher's, not two of them)"));
  }
  if (has_launcher) return Launch{launcher_name(launched->source), launched->size};
  if (options.processes > 0) return Launch{"processes", options.processes};
  return Launch{"threads", options.threads > 0 ? options.threads : std::max(2, read_limits().usable_cpus())};
}

Status run_ranks(const Launch& launch, const CommunicatorOptions& options,
                 const std::function<Status(Communicator&)>& body) {
  if (launch.kind == "threads") return run_threads(launch.ranks, body, options);
  if (launch.kind == "processes") return run_processes(launch.ranks, body, options);
  PERF_TRY_ASSIGN(Communicator comm, Communicator::from_environment(options));
  return body(comm);
}

}  // namespace ringcomm::perf
