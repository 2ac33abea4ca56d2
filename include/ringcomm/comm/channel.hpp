// SPDX-License-Identifier: Apache-2.0
// One lane of ordered operations among some ranks: what collectives are written against.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/descriptor.hpp"
#include "ringcomm/device/arena.hpp"
#include "ringcomm/device/stream.hpp"
#include "ringcomm/topology/cost_model.hpp"
#include "ringcomm/transport/transport.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

namespace plan {
struct RankPlan;
}

/// Whether begin() tells the peers at once, or the caller does so later through Channel::enter(), from the
/// stream that will run the operation.
enum class Announce : std::uint8_t { now, later };

/// An entered operation; leaving it (destruction) ends the caller's turn on the channel.
class OperationScope {
 public:
  OperationScope(OperationScope&& other) noexcept;
  OperationScope& operator=(OperationScope&&) = delete;
  ~OperationScope();
  /// op, dtype, reduce_op, signature and sequence filled in; bytes, step and block are the flag's own.
  const Descriptor& descriptor() const { return descriptor_; }
  Deadline deadline() const { return deadline_; }

 private:
  friend class Channel;
  OperationScope() = default;
  Channel* channel_ = nullptr;
  Descriptor descriptor_{};
  Deadline deadline_{};
  bool is_entered_ = false;  ///< by begin(), so that leaving the scope ends it
};

/// Made by Communicator; not movable, so that operations may keep a reference while the communicator lives.
class Channel {
 public:
  struct Parts;  // private to comm
  explicit Channel(std::unique_ptr<Parts> parts);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Position among the members, and their number.
  int rank() const;
  int size() const;
  /// The communicator's rank of member `index`.
  int member(int index) const;
  bool is_key(const std::vector<int>& members, std::uint32_t ordinal) const;
  /// [size()] the member (its position) at each place of the ring: Communicator::ring_order() without the
  /// ranks that are not members. Empty: as the members are listed.
  const std::vector<int>& ring_order() const;
  /// Measured costs (RINGCOMM_COSTS on rank 0) say that relaying blocks is faster here than reading each in
  /// place.
  bool prefers_relay() const;
  /// Rank 0's (its RINGCOMM_COSTS), so the same on all members; cache_bytes is its last cache unless
  /// measured.
  const MergeLimits& merge_limits() const;
  /// What open_channel() was given.
  const ChannelOptions& options() const;

  /// Starts the next operation: checks fork, thread rule and health, counts the sequence (not for send_recv,
  /// whose messages are counted by pair), announces it to the peers. `deadline` zero means the channel's, or
  /// else the communicator's. Errors: not_available in a forked child, invalid_argument when another thread
  /// is inside (debug builds) or this channel's last operation has not ended (a rotation between two steps),
  /// the communicator's failure.
  Result<OperationScope> begin(OpCode op, DType dtype, ReduceOp reduce_op, std::uint64_t signature,
                               std::chrono::milliseconds deadline = {}, Announce announce = Announce::now);
  /// Tells the peers (unless the operation is one of pairs, which count for themselves) and the recorder that
  /// it begins, on the thread or stream that runs it. begin() has done so with Announce::now.
  void enter(const Descriptor& descriptor, Deadline deadline, std::string_view call_site) noexcept;
  /// The recorder only: it has ended, after its last byte, with `code` where it failed.
  void leave(const Descriptor& descriptor, StatusCode code) noexcept;
  /// Who is told the states of this channel's messages; null when nobody is.
  ChannelSink* sink() const;
  /// Puts the plan of coming operations with this signature into the record, once.
  void keep_plan(std::uint64_t signature, const plan::RankPlan& slice) noexcept;
  /// Makes `reason` this communicator's failure (unless it has one) and tells all ranks. Returns the failure
  /// in force.
  Status fail(Status reason);

  TransportChannel& transport();
  Capabilities capabilities() const;
  /// A block of the communicator's arena, offerable. Grows the arena by a segment when it is full (logged,
  /// counted).
  Result<ArenaBlock> allocate(std::size_t bytes);
  /// True if peers can read [address, address + bytes) in place: inside a window of this communicator or its
  /// arena.
  bool is_offerable(const void* address, std::size_t bytes) const;
  /// Adds to CommunicatorCounters::bytes_packed; the first call also logs "copied: not in a window".
  void count_packed(std::size_t bytes);
  /// The communicator's own stream, started on first use with the priority of the channel that asks first.
  Result<StreamView> comm_stream();
  /// Kept for the layer above (lowered programs, unfinished work); dropped before the lanes are closed.
  std::shared_ptr<void>& extension();

 private:
  friend class OperationScope;
  std::unique_ptr<Parts> parts_;
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
