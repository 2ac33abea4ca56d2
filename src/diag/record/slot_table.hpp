// SPDX-License-Identifier: Apache-2.0
// How often each piece of memory that a channel's messages use has been written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ringcomm/diag/record_format.hpp"

namespace ringcomm::inline v0::diag {

/// A small set-associative table: an address that nobody has used for a while gives way to a new one, but
/// never while a message still reads it. So within one slot number a higher count always means "later".
class SlotTable {
 public:
  /// A message is about to be written to `block`. As RecordEntry::epoch; 0 when the table has no room.
  std::uint32_t write(const void* block, std::uint32_t sequence) noexcept {
    Slot* const slot = find(block, sequence);
    if (slot == nullptr) return 0;
    slot->sequence = sequence;
    return word(*slot, ++slot->count);
  }
  /// A message is about to read it. What its owner did to it between two operations cannot be seen: its first
  /// use in an operation counts as a new content, unless a message of that operation has written it.
  std::uint32_t read(const void* block, std::uint32_t sequence) noexcept {
    Slot* const slot = find(block, sequence);
    if (slot == nullptr) return 0;
    if (slot->sequence != sequence || slot->count == 0) ++slot->count;
    slot->sequence = sequence;
    ++slot->readers;
    return word(*slot, slot->count);
  }
  /// The message that read() gave `epoch` to has been read.
  void give_back(std::uint32_t epoch) noexcept {
    const std::size_t number = epoch >> kSlotShift;
    if (number == 0 || number > kSlots) return;
    Slot& slot = slots_[number - 1];
    if (slot.readers > 0) --slot.readers;
  }

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kSlots = 128;
  static_assert(kSlots < 256, "a slot's number has 8 bits");

  struct Slot {
    const void* block = nullptr;
    std::uint32_t sequence = 0;
    std::uint32_t count = 0;
    std::uint32_t readers = 0;
  };

  std::uint32_t word(const Slot& slot, std::uint32_t& count) const noexcept {
    constexpr std::uint32_t kMask = (std::uint32_t{1} << kSlotShift) - 1;
    if ((count & kMask) == 0) ++count;  // a count that wraps leaves 0 out
    const auto number = static_cast<std::uint32_t>(&slot - slots_.data()) + 1;
    return (number << kSlotShift) | (count & kMask);
  }
  static std::uint32_t age(const Slot& slot, std::uint32_t sequence) noexcept {
    return slot.block == nullptr ? UINT32_MAX : sequence - slot.sequence;
  }

  Slot* find(const void* block, std::uint32_t sequence) noexcept {
    const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(block) * 0x9e3779b97f4a7c15U;
    Slot* const set = &slots_[(mixed >> 59) * kWays];
    Slot* oldest = nullptr;
    for (std::size_t i = 0; i < kWays; ++i) {
      if (set[i].block == block) return &set[i];
      if (set[i].readers > 0) continue;
      if (oldest == nullptr || age(set[i], sequence) > age(*oldest, sequence)) oldest = &set[i];
    }
    if (oldest != nullptr) oldest->block = block, oldest->sequence = sequence - 1;
    return oldest;
  }

  std::array<Slot, kSlots> slots_{};
};

}  // namespace ringcomm::inline v0::diag
