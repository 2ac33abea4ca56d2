// SPDX-License-Identifier: Apache-2.0
// One rank's end of the connections, shared by its transport and its channels, whichever goes last.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "device/host/fork_guard.hpp"
#include "ringcomm/core/deadline.hpp"
#include "ringcomm/transport/transport.hpp"
#include "transport/common/control_segment.hpp"
#include "transport/common/failure.hpp"
#include "transport/common/live_counters.hpp"
#include "transport/common/segment_table.hpp"
#include "transport/common/wait.hpp"

namespace ringcomm::inline v0::transport {

class Endpoint {
 public:
  struct Setup {
    int rank = 0;
    int size = 1;
    TransportOptions options;
    std::uint32_t first_epoch = 0;  ///< the same on all ranks; tests start it near the wrap
  };
  Endpoint(const Setup& setup, std::unique_ptr<PeerMemory> memory);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  int rank() const { return setup_.rank; }
  int size() const { return setup_.size; }
  const WaitPolicy& policy() const { return policy_; }
  FutexScope futex_scope() const { return memory_->futex_scope(); }
  SegmentTable& segments() { return segments_; }
  Failure& failure() { return failure_; }
  const ControlHeader& peer(int rank) const { return *peers_[static_cast<std::size_t>(rank)]; }
  Life life_of(int rank) const {
    return static_cast<Life>(peer(rank).state.life.load(std::memory_order_acquire));
  }

  /// The look around of long waits: the own failure, then a peer's, then a peer's death. Any thread.
  Status check_peers(const Descriptor* waited_in = nullptr);
  /// Takes over the failure of a rank whose life is `failed`.
  Status adopt(int rank) { return failure_.fail(read_failure(peer(rank).state)); }
  /// What this rank has found, explained by the listener before the peers are told.
  Status fail(Status status, int culprit);
  /// Never blocks.
  Status abort(Status reason) {
    return is_forked_copy() ? reason : failure_.fail({std::move(reason), setup_.rank, setup_.rank});
  }

  struct OpenChannel {
    ControlSegment::Lease lease;
    std::vector<const ChannelBlock*> blocks;  ///< by position among the members; the own one too
    std::uint32_t first_epoch = 0;
  };
  /// Waits for all members. A failure is this rank's failure unless it is invalid_argument or out_of_memory.
  Result<OpenChannel> open(const ChannelKey& key, Deadline deadline);
  void close(ControlSegment::Lease lease);

  /// `counters` count from now on, and what they say at detach() stays counted.
  void attach(const LiveCounters& counters);
  void detach(const LiveCounters& counters);
  TransportCounters counters() const;
  /// The transport goes; channels may still be there.
  void leave() {
    if (!is_forked_copy()) failure_.close();
  }
  /// True in a forked child: the control segments are not mapped there, and the parent still uses them.
  bool is_forked_copy() const { return fork_generation_ != fork_generation(); }

 private:
  Status adopt_any();
  Status find_members(OpenChannel& channel, const ChannelKey& key, Deadline deadline);
  Status explain_missing(const OpenChannel& channel, const ChannelKey& key, std::int64_t waited_ns);

  const std::uint32_t fork_generation_ = fork_generation();
  const Setup setup_;
  const WaitPolicy policy_;
  std::unique_ptr<PeerMemory> memory_;
  std::vector<const ControlHeader*> peers_;
  std::size_t control_bytes_;
  ControlSegment control_;
  SegmentTable segments_;
  Failure failure_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint32_t> generations_;
  std::vector<const LiveCounters*> live_counters_;
  TransportCounters detached_counters_;
};

}  // namespace ringcomm::inline v0::transport
