// SPDX-License-Identifier: Apache-2.0
// What the ranks of this user's live jobs on this host do now, read from their flight records.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "ringcomm/diag/hang_evidence.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0::diag {

/// One rank in one group (a channel of its communicator).
struct LiveGroup {
  std::string name{};                      ///< as its maker called it; may be empty
  std::string unique_id{};                 ///< the same on all its ranks
  std::vector<int> ranks{};                ///< ranks of the job, in the order of the group; -1: not known
  std::int64_t posted = 0, completed = 0;  ///< sequences; 0: none yet
  std::string op{};                        ///< entered last, "ring_rotate"; empty: none yet
  std::string dtype{};
  std::uint64_t bytes = 0;
  std::string call_site{};
  bool is_open = false;  ///< entered and not left
  int step = 0;
  int waits_for = kUnknown;   ///< rank of the job; kUnknown: waits for nobody now
  std::int64_t age_ns = 0;    ///< since it entered the open operation, or since the last one ended
  std::int64_t waits_ns = 0;  ///< since the wait that runs began; 0: none
  std::int64_t left_ns = 0;   ///< until the deadline of the open operation; 0: passed, or none
  bool has_deadline = false;
  double waiting_share = 0, compute_share = 0;  ///< of the time since the record was made, 0 ... 1
  std::uint64_t entries = 0;                    ///< messages and operations recorded
};

/// What /proc says of the process that writes a record.
enum class ProcessState : std::uint8_t {
  gone,      ///< no such process, or its number belongs to another one now
  zombie,    ///< ended, its parent has not noticed
  stopped,   ///< SIGSTOP or a debugger
  blocked,   ///< in the kernel, not interruptible ("D")
  sleeping,  ///< waits
  running,
  unknown,  ///< on another host
};
std::string_view name_of(ProcessState state);

/// One rank in one communicator.
struct LiveRank {
  std::uint64_t job = 0, communicator = 0;
  int rank = 0, size = 1;  ///< in the communicator
  int world_rank = 0, world_size = 1;
  std::int64_t pid = kUnknown;
  std::string host{}, transport{}, command{};
  ProcessState process = ProcessState::unknown;
  double cpu_seconds = 0;                       ///< user and system time of the process so far
  std::uint64_t resident_high_water_bytes = 0;  ///< of the process (VmHWM)
  std::uint64_t arena_high_water_bytes = 0, window_bytes = 0;
  std::int64_t created_ns = 0;  ///< CLOCK_REALTIME
  std::string failure{};        ///< what its communicator failed with; empty: works
  std::vector<LiveGroup> groups{};
  std::filesystem::path record{};
  std::string note{};  ///< what could not be read of it
};

/// All ranks whose records lie on this host in this user's folders (and in `folder` where one is given), in
/// the order of job, communicator and rank; with `pid` only the job (or jobs) of that process. Records of
/// dead processes are left out unless another rank of their job lives.
std::vector<LiveRank> live_ranks(std::optional<std::int64_t> pid = {},
                                 const std::filesystem::path& folder = {});

}  // namespace ringcomm::inline v0::diag
#pragma GCC visibility pop
