// SPDX-License-Identifier: Apache-2.0
// What differs between threads and processes below the lanes: how a rank comes to see the others' memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ringcomm/core/result.hpp"
#include "ringcomm/device/segment.hpp"
#include "transport/common/futex.hpp"

namespace ringcomm::inline v0::transport {

/// Ranks are the communicator's. Made by connect(); all calls but control() and check_alive() come with the
/// transport's lock held, one at a time. check_alive() may be called by several threads at once.
class PeerMemory {
 public:
  virtual ~PeerMemory() = default;
  /// This rank's control segment: zeroed, writable, page-aligned, control_segment_bytes(ranks) long.
  virtual std::byte* own_control() = 0;
  /// `peer`'s control segment (the own one for the own rank), readable as long as this object lives, also
  /// after the peer has left. Called for every rank once.
  virtual const std::byte* control(int peer) = 0;
  virtual FutexScope futex_scope() const = 0;
  /// Lets `peer` map() the segment from now on. Called before the first offer of it to that peer; must not
  /// wait for the peer.
  virtual Status announce(int peer, std::uint32_t segment_id, const std::shared_ptr<Segment>& segment) = 0;
  /// The owner takes it back: later map() calls may fail, mappings that exist stay.
  virtual void withdraw(std::uint32_t segment_id) = 0;
  /// The segment that `peer` announced under this id; the reference keeps it mapped. Called once per segment
  /// and again after the mapping was dropped. Must not wait: the announcement precedes the offer.
  virtual Result<std::shared_ptr<Segment>> map(int peer, std::uint32_t segment_id) = 0;
  /// ok, or peer_lost when a peer has died; `culprit` is then its rank. Called by waits that take long.
  virtual Status check_alive(int& culprit) = 0;
};

}  // namespace ringcomm::inline v0::transport
