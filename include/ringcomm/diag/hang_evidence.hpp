// SPDX-License-Identifier: Apache-2.0
// What files say of a job that hangs, before anybody draws a conclusion: plain facts, each with the place it
// was read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/core/result.hpp"
#include "ringcomm/topology/evidence.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0::diag {

inline constexpr int kUnknown = -1;

/// Where a fact was read. `file` indexes HangEvidence::files (a fact is small; a file's name is not).
struct Source {
  std::int32_t file = kUnknown;
  std::int32_t line = 0;  ///< from 1; 0: the whole file or a binary one
};

/// Whom a line speaks of, as far as it says so itself. The readers do not join identities; explain() does.
struct Who {
  int rank = kUnknown;        ///< global rank
  int group_rank = kUnknown;  ///< rank inside the fact's group
  std::int64_t pid = kUnknown;
  int gpu = kUnknown;  ///< CUDA device number of the process, or the number in "GPU 3"
  std::string host{};
  std::string address{};  ///< IP or GID
  std::string bus_id{};   ///< "0000:3b:00.0", lower case
  std::string name{};     ///< as printed, where none of the above: "trainer22|6"
  friend bool operator==(const Who&, const Who&) = default;
};

enum class Tri : std::uint8_t { unknown, no, yes };

/// What the operation does, whatever its source calls it ("nccl:_all_gather_base", "ALLGATHER", "AllGather").
enum class OpClass : std::uint8_t {
  unknown,
  all_reduce,
  all_gather,
  reduce_scatter,
  broadcast,
  reduce,
  gather,
  scatter,
  all_to_all,
  barrier,
  send,
  recv,
  coalesced,
  softmax_all_reduce,
  softmax_reduce_scatter,
  ring_rotate,
  ring_attention,
  split,
  init,
};
std::string_view name_of(OpClass op);
/// Of a name as any of the sources prints it; unknown for others.
OpClass op_class_of(std::string_view printed);

/// A communicator or process group as one source sees it.
struct GroupFact {
  std::string key{};   ///< what OpFact::group and CounterFact::group refer to, within one rank's evidence
  std::string name{};  ///< "74", "0", "default_pg"; joins ranks together with `ranks`
  std::string description{};  ///< "EXPERT_MODEL_PARALLEL_GROUP"
  std::string unique_id{};    ///< commId, hash or own communicator id: joins by itself where set
  std::vector<int> ranks{};   ///< global ranks in the order of their group ranks; empty: not said
  std::optional<int> size{};
  std::string backend{};
  Who who{};  ///< whose view this is
  Source source{};
};

/// One collective call, send or receive of one rank.
struct OpFact {
  Who who{};
  std::string group{};  ///< key of a GroupFact of the same rank; "" where the source names none
  OpClass op = OpClass::unknown;
  std::string name{};  ///< as printed
  std::optional<std::int64_t> seq{}, p2p_seq{};
  bool is_hex_seq = false;  ///< the source prints it in hexadecimal (opCount)
  int peer = kUnknown;      ///< of send and recv, a group rank
  int root = kUnknown;
  std::vector<std::vector<std::int64_t>> input_sizes{}, output_sizes{};  ///< shapes
  std::optional<std::int64_t> elements_in{}, elements_out{};             ///< where only counts are known
  std::string dtype{}, reduce_op{};                                      ///< lower-case words as printed
  Tri started = Tri::unknown, completed = Tri::unknown;
  bool is_timed_out = false;  ///< the source itself says so
  std::optional<std::int64_t> created_ns{}, started_ns{}, completed_ns{}, ran_for_ms{}, timeout_ms{};
  std::int64_t coalesced = kUnknown;  ///< members of one coalesced call share it, within one rank and group
  std::vector<std::string> frames{};  ///< innermost first, "file:line function"; or the call-site tag
  std::string stream{};
  int snapshot = 0;
  /// Own records only: hash of the plan with the sizes of all ranks. Ranks with equal ones agree, even where
  /// their own element counts differ (blocks of a rotation may). 0: none.
  std::uint64_t signature = 0;
  Source source{};
};

/// One block on its way in an own record (EntryKind incoming, outgoing).
struct StepFact {
  Who who{};
  std::string group{};
  bool is_incoming = false;
  OpClass op = OpClass::unknown;
  std::int64_t seq = 0;
  int step = 0;
  int peer = kUnknown;  ///< global rank
  int block = kUnknown;
  std::int64_t bytes = 0;
  int slot = kUnknown;         ///< number of the memory read or written, within one rank and group
  std::uint32_t epoch = 0;     ///< how often it had been written, this time included; 0: not known
  std::int64_t posted_ns = 0;  ///< CLOCK_REALTIME
  std::optional<std::int64_t> arrived_ns{}, computed_ns{}, released_ns{};
  Source source{};
};

/// Last enqueued, started, completed of one rank in one group; RAS: launches by function.
struct CounterFact {
  Who who{};
  std::string group{};
  std::optional<std::int64_t> enqueued{}, started{}, completed{};
  std::map<std::string, std::int64_t> launches{};
  int snapshot = 0;  ///< 0, 1, ... of one source that was asked more than once
  Source source{};
};

enum class EventKind : std::uint8_t {
  // a process
  exception,  ///< a traceback; detail = exception type; text = its last line
  exit_code,  ///< code = status (-9 for a signal)
  oom_kill,   ///< the kernel killed it for memory
  segfault,
  stopped,          ///< SIGSTOP, T state, debugger
  unresponsive,     ///< did not answer RAS
  considered_dead,  ///< RAS says dead
  missing_process,  ///< RAS misses it
  progress,         ///< an application line that shows the rank alive; detail = what it does
  finished,         ///< "training finished", "saved"
  // the communication library
  timeout,          ///< a watchdog fired; op facts carry what
  heartbeat_stuck,  ///< a watchdog thread made no progress
  async_error,      ///< "raised the following async exception"; peer = who closed
  peer_closed,      ///< connection closed by remote peer
  aborted,          ///< a consequence: abort, "taking the entire process down"
  init_start,
  init_complete,      ///< ncclCommInitRank
  mismatch_reported,  ///< the library itself saw two different calls
  truncated_message,  ///< code/second = the two sizes
  duplicate_gpu,
  version_mismatch,
  mixed_net_devices,
  no_interface,
  no_route,
  connect_failed,
  ib_completion,  ///< code = status
  ib_async,
  port_error,
  registration_failed,
  shm_failed,      ///< /dev/shm segment could not be made
  memlock_failed,  ///< ibv_* cannot allocate memory
  cuda_error,
  cuda_oom,
  system_error,
  return_code,     ///< "file.cc:line -> code"
  version,         ///< detail = NCCL version of this process
  transport_used,  ///< detail = "P2P/IPC", "NET/IB/3/GDRDMA"; peer
  env_set,         ///< detail = NAME=VALUE
  // the machine
  xid,  ///< code; bus_id
  nvlink_error,
  ecc_error,
  test_result,  ///< a line of an nccl-tests style program or of a person: detail
  other,        ///< a line that may matter: an error nobody knows
};
std::string_view name_of(EventKind kind);

struct EventFact {
  EventKind kind = EventKind::other;
  Who who{};
  Who peer{};  ///< the other end, where the line names one
  std::string group{};
  std::optional<std::int64_t> time_ns{};  ///< of the line; without a date only differences count
  std::int64_t code = 0, second = 0;
  std::string detail{};
  std::string text{};  ///< the line without prefixes, at most 400 characters
  int snapshot = 0;
  Source source{};
};

/// One thread's stack (py-spy, gdb, faulthandler).
struct StackFact {
  Who who{};
  std::string thread{};
  bool is_idle = false;
  std::vector<std::string> frames{};  ///< innermost first, "function (file:line)"
  Source source{};
};

/// One line of nvidia-smi --query-gpu csv, or of a metrics table.
struct GpuSample {
  Who who{};
  std::optional<double> utilisation_percent{}, power_watts{}, memory_bytes{};
  std::map<std::string, std::string> columns{};
  int snapshot = 0;
  Source source{};
};

struct FileRead {
  std::string path{};
  std::vector<std::string> formats{};  ///< "fr_pickle", "watchdog_log", ... (docs/diagnosis.md lists them)
  std::vector<int> ranks{};            ///< whose evidence it has
  std::size_t facts = 0;
  std::size_t lines_skipped = 0;  ///< lines that no reader knows
  std::string note{};             ///< "ends inside entry 12"
};

struct HangEvidence {
  std::vector<FileRead> files{};
  std::vector<UnreadFile> unread{};  ///< with the reason; missing evidence, not an error
  std::vector<GroupFact> groups{};
  std::vector<OpFact> ops{};
  std::vector<StepFact> steps{};
  std::vector<CounterFact> counters{};
  std::vector<EventFact> events{};
  std::vector<StackFact> stacks{};
  std::vector<GpuSample> gpus{};
  std::vector<Who>
      identities{};  ///< lines that tell several names of one process (Init): rank, host, pid, bus id
  std::vector<Reading> topology{};  ///< files that the topology readers know (nvidia-smi topo, lspci, ...)
  /// Ranks of which an own record or a flight-recorder dump was read although it has no open operation.
  std::vector<Who> idle{};
  std::optional<int> world_size{};
};

/// Limits: a hostile file costs bounded memory; what lies beyond is counted in FileRead::note.
struct ReadLimits {
  std::size_t file_bytes = std::size_t{1} << 30;
  std::size_t facts_per_file = std::size_t{2} << 20;
  std::size_t files = 65536;
};

/// A file, several, or folders (recursively, at most 8 deep). Recognised by content, never by name alone; a
/// rank comes from the content first, then from the last number of the file's name. Never fails: what cannot
/// be read is in `unread`.
HangEvidence read_hang_evidence(std::span<const std::filesystem::path> paths, const ReadLimits& limits = {});
/// One text, as from standard input; `name` is what messages call it.
HangEvidence read_hang_evidence(std::string_view bytes, const std::string& name,
                                const ReadLimits& limits = {});

}  // namespace ringcomm::inline v0::diag
#pragma GCC visibility pop
