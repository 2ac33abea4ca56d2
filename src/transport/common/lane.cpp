// SPDX-License-Identifier: Apache-2.0
#include "transport/common/lane.hpp"

#include "core/assert.hpp"

namespace ringcomm::inline v0::transport {

void reset_lane(PeerLanes& lanes, std::uint32_t first_epoch) {
  for (Cell& cell : lanes.cells) cell.epoch.store(first_epoch, std::memory_order_relaxed);
  lanes.ack.releases.store(first_epoch, std::memory_order_relaxed);
  lanes.ack.last_release.version.store(2 * first_epoch, std::memory_order_relaxed);
  lanes.ack.receives.store(first_epoch, std::memory_order_relaxed);
  lanes.taken.taken.store(first_epoch, std::memory_order_relaxed);
  lanes.sleep.sleeping.store(0, std::memory_order_relaxed);
}

Lane::Lane(PeerLanes& mine, const PeerLanes& theirs, std::uint32_t first_epoch, FutexScope scope)
    : mine_(&mine),
      theirs_(&theirs),
      scope_(scope),
      posted_(first_epoch),
      taken_by_peer_(first_epoch),
      taken_(first_epoch),
      takes_(first_epoch),
      releases_(first_epoch),
      receives_(first_epoch),
      offers_(first_epoch),
      sends_(first_epoch),
      reclaimed_(first_epoch) {}

bool Lane::has_room() {
  if (posted_ - taken_by_peer_ < kLaneCells) return true;
  taken_by_peer_ = theirs_->taken.taken.load(std::memory_order_acquire);
  return posted_ - taken_by_peer_ < kLaneCells;
}

// Dekker's pattern with sleep(): each side stores its own word and then loads the other's, all sequentially
// consistent, so that at least one of the two sees the other.
void Lane::publish(Word& word, std::uint32_t value, Sleeping what) {
  word.store(value, std::memory_order_seq_cst);
  const std::uint32_t sleeping = theirs_->sleep.sleeping.load(std::memory_order_seq_cst);
  if (sleeping == static_cast<std::uint32_t>(what)) [[unlikely]]
    futex_wake_all(word, scope_);
}

void Lane::post(const Parcel& parcel) {
  ++posted_;
  parcel.kind == ParcelKind::offer ? ++offers_ : ++sends_;
  Cell& cell = mine_->cells[posted_ % kLaneCells];
  cell.parcel = parcel;
  publish(cell.epoch, posted_, Sleeping::on_data);
}

void Lane::consume() {
  ++taken_;
  publish(mine_->taken.taken, taken_, Sleeping::on_taken);
}

void Lane::release(const Descriptor& descriptor) {
  ++releases_;
  write_shared(mine_->ack.last_release, descriptor);
  publish(mine_->ack.releases, releases_, Sleeping::on_release);
}

void Lane::complete_receive() {
  ++receives_;
  publish(mine_->ack.receives, receives_, Sleeping::on_receive);
}

bool Lane::last_release(Descriptor& descriptor) const {
  return try_read_shared(theirs_->ack.last_release, 2 * (reclaimed_ + 1), descriptor);
}

const Word& Lane::awaited_word(Sleeping what) const {
  switch (what) {
    case Sleeping::on_release:
      return theirs_->ack.releases;
    case Sleeping::on_receive:
      return theirs_->ack.receives;
    case Sleeping::on_taken:
      return theirs_->taken.taken;
    case Sleeping::on_data:
    case Sleeping::awake:
      break;
  }
  return front_cell().epoch;
}

std::uint32_t Lane::awaited_epoch(Sleeping what) const {
  switch (what) {
    case Sleeping::on_release:
      return reclaimed_ + 1;
    case Sleeping::on_receive:
      return sends_;
    case Sleeping::on_taken:
      return posted_ + 1 - kLaneCells;
    case Sleeping::on_data:
    case Sleeping::awake:
      break;
  }
  return taken_ + 1;
}

void Lane::sleep(Sleeping what, std::int64_t span_ns) {
  RINGCOMM_ASSERT(what != Sleeping::awake);
  const Word& word = awaited_word(what);
  Word& sleeping = mine_->sleep.sleeping;
  sleeping.store(static_cast<std::uint32_t>(what), std::memory_order_seq_cst);
  const std::uint32_t value = word.load(std::memory_order_seq_cst);
  if (!has_reached(value, awaited_epoch(what))) futex_wait(word, value, span_ns, scope_);
  sleeping.store(0, std::memory_order_relaxed);
}

}  // namespace ringcomm::inline v0::transport
