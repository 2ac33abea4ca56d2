// SPDX-License-Identifier: Apache-2.0
// Both directions between this rank and one member of a channel: eight mailbox cells, counts that come back.
#pragma once

#include <cstdint>

#include "transport/common/control_layout.hpp"
#include "transport/common/futex.hpp"

namespace ringcomm::inline v0::transport {

/// One thread at a time. Nothing here waits or fails; LaneChannel waits between these calls.
class Lane {
 public:
  Lane() = default;
  /// `mine` is written here, `theirs` there. All counters of both sides start from `first_epoch`.
  Lane(PeerLanes& mine, const PeerLanes& theirs, std::uint32_t first_epoch, FutexScope scope);

  /// Room for one more parcel; refreshes the cached count when it looks full.
  bool has_room();
  /// Only when has_room(). Wakes the peer if it sleeps.
  void post(const Parcel& parcel);

  bool has_parcel() const {
    return has_reached(front_cell().epoch.load(std::memory_order_acquire), taken_ + 1);
  }
  /// Only when has_parcel(); stays until consume().
  const Parcel& front() const { return front_cell().parcel; }
  void consume();

  /// The peer's oldest offer not yet released.
  void release(const Descriptor& descriptor);
  /// The peer's oldest send not yet completed.
  void complete_receive();

  bool is_released() const {
    return has_reached(theirs_->ack.releases.load(std::memory_order_acquire), reclaimed_ + 1);
  }
  /// Only when is_released().
  void reclaim() { ++reclaimed_; }
  /// True if the peer's last release was that of the offer to be reclaimed next; then `last_release` is it.
  bool last_release(Descriptor& descriptor) const;
  /// All sends posted so far were received.
  bool are_sends_received() const {
    return has_reached(theirs_->ack.receives.load(std::memory_order_acquire), sends_);
  }

  /// Offers not yet reclaimed, taken parcels not yet released.
  std::uint32_t unreclaimed() const { return offers_ - reclaimed_; }
  std::uint32_t unreleased() const { return takes_ - releases_; }
  void count_take() { ++takes_; }

  /// The word of the peer that `what` is about, and the value that it must reach.
  const Word& awaited_word(Sleeping what) const;
  std::uint32_t awaited_epoch(Sleeping what) const;
  /// Sleeps until the word changes, `span_ns` at most. Sets the own sleep line, so that the peer wakes us.
  void sleep(Sleeping what, std::int64_t span_ns);

 private:
  const Cell& front_cell() const { return theirs_->cells[(taken_ + 1) % kLaneCells]; }
  void publish(Word& word, std::uint32_t value, Sleeping what);

  PeerLanes* mine_ = nullptr;
  const PeerLanes* theirs_ = nullptr;
  FutexScope scope_ = FutexScope::threads;
  std::uint32_t posted_ = 0;
  std::uint32_t taken_by_peer_ = 0;  ///< cached
  std::uint32_t taken_ = 0;
  std::uint32_t takes_ = 0;
  std::uint32_t releases_ = 0;
  std::uint32_t receives_ = 0;
  std::uint32_t offers_ = 0;
  std::uint32_t sends_ = 0;
  std::uint32_t reclaimed_ = 0;
};

/// Makes the words of a lane those of a channel that nobody has used. Only while no peer reads them.
void reset_lane(PeerLanes& lanes, std::uint32_t first_epoch);

}  // namespace ringcomm::inline v0::transport
