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
  bool has_room() {
    if (posted_ - taken_by_peer_ < kLaneCells) return true;
    taken_by_peer_ = theirs_->taken.taken.load(std::memory_order_acquire);
    return posted_ - taken_by_peer_ < kLaneCells;
  }
  /// Only when has_room(). Wakes the peer if it sleeps.
  void post(const Descriptor& descriptor, const BlockAddress& address, ParcelKind kind) {
    ++posted_;
    kind == ParcelKind::offer ? ++offers_ : ++sends_;
    Cell& cell = mine_->cells[posted_ % kLaneCells];
    cell.parcel = {.kind = kind,
                   .segment_id = address.segment_id,
                   .offset = address.offset,
                   .bytes = address.bytes,
                   .descriptor = descriptor};
    publish(cell.epoch, posted_, Sleeping::on_data);
    __builtin_prefetch(&front_cell());  // whoever posts takes next: the line travels while the caller records
  }

  bool has_parcel() const {
    return has_reached(front_cell().epoch.load(std::memory_order_acquire), taken_ + 1);
  }
  /// Only when has_parcel(); stays until consume().
  const Parcel& front() const { return front_cell().parcel; }
  /// Does not order its look at the sleeper's word (the peer then sleeps one slice too long at worst): a full
  /// lane is rare, this call is not.
  void consume() {
    mine_->taken.taken.store(++taken_, std::memory_order_release);
    wake(mine_->taken.taken, theirs_->sleep.sleeping.load(std::memory_order_relaxed), Sleeping::on_taken);
  }

  /// The peer's oldest offer not yet released.
  void release(const Descriptor& descriptor) {
    mine_->ack.last_release.write(release_note(descriptor));
    mine_->ack.taken.store(taken_, std::memory_order_release);
    publish(mine_->ack.releases, ++releases_, Sleeping::on_release);
    __builtin_prefetch(&theirs_->ack);  // and whoever releases reclaims next
  }
  /// The peer's oldest send not yet completed.
  void complete_receive() { publish(mine_->ack.receives, ++receives_, Sleeping::on_receive); }

  bool is_released() const {
    return has_reached(theirs_->ack.releases.load(std::memory_order_acquire), reclaimed_ + 1);
  }
  /// Only when is_released(). Takes the count of taken cells from the line that it has: else every eighth
  /// post would wait for TakenLine's.
  void reclaim() {
    ++reclaimed_;
    const std::uint32_t taken = theirs_->ack.taken.load(std::memory_order_acquire);
    if (has_reached(taken, taken_by_peer_)) taken_by_peer_ = taken;
  }
  /// False when the peer's release of the offer to be reclaimed next says something else than `mine`; true
  /// also when the peer has released more since and the note is gone.
  bool agrees_on_release(const Descriptor& mine) const {
    ReleaseNote theirs{};
    return !theirs_->ack.last_release.read(2 * (reclaimed_ + 1), theirs) || theirs == release_note(mine);
  }
  /// The note that agrees_on_release() refused, as a descriptor with the other values of `mine`.
  Descriptor refused_release(const Descriptor& mine) const;
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
  // Dekker's pattern with sleep(): each side stores its own word and then loads the other's, all sequentially
  // consistent, so that at least one of the two sees the other.
  void publish(Word& word, std::uint32_t value, Sleeping what) {
    word.store(value, std::memory_order_seq_cst);
    wake(word, theirs_->sleep.sleeping.load(std::memory_order_seq_cst), what);
  }
  void wake(const Word& word, std::uint32_t sleeping, Sleeping what) const {
    if (sleeping == static_cast<std::uint32_t>(what)) [[unlikely]]
      futex_wake_all(word, scope_);
  }

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
