// SPDX-License-Identifier: Apache-2.0
// Where operations report their states; diag's recorder implements it, so that no lower room knows diag.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ringcomm/core/descriptor.hpp"
#include "ringcomm/core/status.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

enum class OpState : std::uint8_t { posted = 0, arrived = 1, computed = 2, released = 3, failed = 4 };

/// incoming: take, pull, recv and the release of what was taken. outgoing: offer, send, reclaim.
enum class Direction : std::uint8_t { incoming, outgoing };

/// A moment, read from the sink's clock once: whoever tells several states without waiting, copying or
/// running the caller's code in between tells them all with the same one, and starts with a new one
/// afterwards.
struct Instant {
  std::uint64_t ticks = 0;  ///< the sink's own; 0: not read yet
};

/// What one channel tells. Called on the hot path: implementations neither allocate, lock nor throw. By one
/// thread or stream at a time, but for computed and released of blocks that arrived in a slot: an overlapped
/// relay says those from its consumer's thread while its transport goes on in a stream.
/// Messages of one direction between two ranks keep their order, so a state belongs to the oldest message of
/// that peer and direction that has neither reached it nor been released; without one it is ignored. Not
/// every incoming message is computed on (those of a barrier are not).
class ChannelSink {
 public:
  virtual ~ChannelSink() = default;
  /// A collective call begins, on the thread or stream that runs it. `deadline_ns`: CLOCK_MONOTONIC,
  /// INT64_MAX for none. `call_site`: static text (CallSite), so that equal addresses are equal texts, or "".
  virtual void enter(const Descriptor& descriptor, std::int64_t deadline_ns,
                     std::string_view call_site) noexcept = 0;
  /// It has ended, with `code` where it failed.
  virtual void leave(const Descriptor& descriptor, StatusCode code) noexcept = 0;
  /// incoming: posted = a wait for it begins (left out where a view is there already), arrived = its data is
  /// here, computed = its consumer is done, released = given back to the peer. outgoing: posted = offered or
  /// sent, released = its memory may be overwritten. `peer`: rank of the communicator. `block`: the memory
  /// that is read (outgoing) or written (incoming; null for a view).
  virtual void record(Direction direction, const Descriptor& descriptor, int peer, const void* block,
                      OpState state) noexcept = 0;
  /// record() of one of the states of `when`. A sink that reads no clock leaves it as it is.
  virtual void record_at(Direction direction, const Descriptor& descriptor, int peer, const void* block,
                         OpState state, Instant& when) noexcept {
    static_cast<void>(when);
    record(direction, descriptor, peer, block, state);
  }
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  /// When a channel is opened; the result lives as long as this object. Null: nothing is recorded of this
  /// channel.
  virtual ChannelSink* open_channel(std::span<const int> members, std::uint32_t ordinal,
                                    std::string_view name) noexcept {
    static_cast<void>(members), static_cast<void>(ordinal), static_cast<void>(name);
    return nullptr;
  }
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
