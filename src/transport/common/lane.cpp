// SPDX-License-Identifier: Apache-2.0
#include "transport/common/lane.hpp"

#include "core/assert.hpp"

namespace ringcomm::inline v0::transport {

void reset_lane(PeerLanes& lanes, std::uint32_t first_epoch) {
  for (Cell& cell : lanes.cells) cell.epoch.store(first_epoch, std::memory_order_relaxed);
  lanes.ack.releases.store(first_epoch, std::memory_order_relaxed);
  lanes.ack.last_release.version.store(2 * first_epoch, std::memory_order_relaxed);
  lanes.ack.receives.store(first_epoch, std::memory_order_relaxed);
  lanes.ack.taken.store(first_epoch, std::memory_order_relaxed);
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

Descriptor Lane::refused_release(const Descriptor& mine) const {
  auto words = std::bit_cast<std::array<std::uint64_t, 4>>(mine);
  ReleaseNote theirs = release_note(mine);
  (void)theirs_->ack.last_release.read(2 * (reclaimed_ + 1), theirs);
  words[0] = theirs[0];
  words[2] = theirs[1];
  return std::bit_cast<Descriptor>(words);
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
