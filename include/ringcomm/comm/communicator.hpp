// SPDX-License-Identifier: Apache-2.0
// A group of ranks that can talk: chooses the transport, owns arena and streams, keeps the first failure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/bootstrap/bootstrap.hpp"
#include "ringcomm/core/placement.hpp"
#include "ringcomm/core/result.hpp"
#include "ringcomm/device/segment.hpp"
#include "ringcomm/transport/transport.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

class Channel;
struct Machine;

/// Per channel, so that each parallel group of a job has its own.
struct ChannelOptions {
  std::chrono::milliseconds deadline{0};  ///< of its operations; zero: the communicator's
  std::size_t chunk_bytes = 0;            ///< of relayed blocks, where the rotation names none; 0: whole
  /// Of the stream that is made for it; higher first, on devices that have priorities (the host has none).
  int priority = 0;
};

struct CommunicatorOptions {
  /// For each operation and for creation. Zero: RINGCOMM_TIMEOUT, else 10 minutes.
  std::chrono::milliseconds deadline{0};
  /// Slots, flags and small exchanges; allocated, prefaulted and registered once. Zero: RINGCOMM_ARENA_BYTES,
  /// else 16 MiB. What needs more grows it, when its plan is made, by a further segment.
  std::size_t arena_bytes = 0;
  /// Tried in this order; empty: RINGCOMM_TRANSPORTS, else default_transports().
  std::vector<TransportFactory> transports{};
  WaitStyle wait_style = WaitStyle::automatic;
  /// Is told what the flight recorder is told; outlives the communicator. May be null.
  EventSink* sink = nullptr;
  /// Of the flight recorder, 64 bytes each (a power of two). Zero: RINGCOMM_RECORD_ENTRIES, else 4096.
  std::uint32_t record_entries = 0;
  /// What this host is said to be, for tests and for hosts that hide it. Null: the evidence in
  /// RINGCOMM_TOPO_FILE, else the cores of this host as they are. CPUs that are not here are not bound to.
  std::shared_ptr<const Machine> machine{};
  /// [ranks] who follows whom in rings, a permutation, the same on all ranks. Empty: RINGCOMM_RING_ORDER,
  /// else planned from where the ranks run.
  std::vector<int> ring_order{};
};

struct CommunicatorCounters {
  TransportCounters transport;
  std::uint64_t bytes_packed = 0;  ///< copied because the caller's memory was strided or not in a window
  std::size_t arena_bytes = 0;
  std::size_t arena_high_water_bytes = 0;
  std::size_t arena_pinned_bytes = 0;
};

/// Move-only. One thread at a time (checked in debug builds: invalid_argument "two threads ..."); abort(),
/// health(), counters() from any thread. At most one library thread per communicator, started by the first
/// overlapped relay. After fork() the child's copy answers every call with not_available and its destructor
/// does nothing.
class Communicator {
 public:
  /// n communicators for n threads of this process.
  static Result<std::vector<Communicator>> create_local(int ranks, const CommunicatorOptions& options = {});
  /// Collective over the bootstrap's group.
  static Result<Communicator> create(std::unique_ptr<Bootstrap> bootstrap,
                                     const CommunicatorOptions& options = {});
  /// From the variables of the launcher (read_launch_environment()); with none of them set, one rank.
  static Result<Communicator> from_environment(const CommunicatorOptions& options = {});

  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  /// Tells the peers it leaves and lets its readers finish for a bounded time, then aborts. Never a
  /// collective.
  ~Communicator();

  int rank() const;
  int size() const;
  /// Memory that peers read without a copy. Local call. Errors: out_of_memory naming the limit.
  Result<Window> allocate(std::size_t bytes);
  /// Fails this rank and releases all others; any thread, never blocks.
  void abort(std::string_view reason);
  /// ok, or the first failure; every later operation returns it.
  Status health() const;
  /// "inproc", "shm", ...; "self" for the own rank.
  std::string_view path_name(int peer) const;
  CommunicatorCounters counters() const;
  /// Where this rank's threads should run (hwloc, else the affinity mask); the caller binds itself if it
  /// wants to.
  const Placement& placement() const;
  std::chrono::milliseconds deadline() const;
  /// The flight recorder's file, "" when it is off (docs/running.md). It goes with the communicator unless
  /// that has failed.
  std::string record_path() const;
  /// After a failure: what the watchdog makes of it, one sentence; "" when it has nothing to say. Any thread.
  std::string verdict() const;
  /// [size()] rank at each place of the ring that rotations follow; the same on all ranks. Planned: hosts,
  /// packages and memory nodes are entered once each, and of equal orders the one nearest to 0, 1, 2, ... is
  /// taken.
  const std::vector<int>& ring_order() const;

  /// Channel 0: all ranks.
  Channel& channel();
  /// Collective over `members` (ranks of this communicator, this one among them, same list everywhere). Has
  /// its own sequence, lines and slots; channels with other members or ordinal share no counter. Lives as
  /// long as this object. Ordinals from 2^31 on are the library's.
  Result<Channel*> open_channel(std::vector<int> members, std::uint32_t ordinal = 1,
                                const ChannelOptions& options = {});
  /// Collective over all ranks: those that give the same `color` (0 or more) form a communicator with its own
  /// transports and arena, ranked by (key, rank) as MPI_Comm_split does. Empty for kNoColor. A group that
  /// needs no transport of its own is cheaper as a channel.
  /// Options that are not set are this communicator's; so is the placement. A failure of the new communicator
  /// is not one of this. Errors: invalid_argument on every rank when one gave a color below kNoColor, naming
  /// it.
  static constexpr int kNoColor = -1;
  Result<std::optional<Communicator>> split(int color, int key, const CommunicatorOptions& options = {});

 private:
  struct Impl;
  struct Inherited;  // private to comm
  explicit Communicator(std::unique_ptr<Impl> impl);
  /// create() for the ranks of a parent; null: without one.
  static Result<Communicator> create_under(std::unique_ptr<Bootstrap> bootstrap,
                                           const CommunicatorOptions& options, const Inherited* parent);
  std::unique_ptr<Impl> impl_;
};

/// Runs `body` once per rank, each on a thread of its own bound to its placement, and joins them. Any rank's
/// failure aborts the others; returns the first failure in time. For examples, tools and tests.
Status run_threads(int ranks, const std::function<Status(Communicator&)>& body,
                   const CommunicatorOptions& options = {});

/// Forks `ranks` children that each run `body` and exit; waits for all. Children die with the parent, and
/// when it is interrupted (SIGINT, SIGTERM) they are killed and reaped before it goes on; nothing is left
/// behind. A failed or killed child: the first failure's rank and sentence, and the other children are
/// released. Call it before starting threads.
Status run_processes(int ranks, const std::function<Status(Communicator&)>& body,
                     const CommunicatorOptions& options = {});

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
