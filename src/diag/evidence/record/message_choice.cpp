// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/record/message_choice.hpp"

#include <algorithm>

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::uint32_t kOperations = 4;  ///< the latest ones, of which finished messages are kept
constexpr std::size_t kOpenMax = 96;
constexpr std::size_t kOverMax = 32;
constexpr std::size_t kReadingsMax = 16;  ///< of one slot that are not over
constexpr std::size_t kRewrittenMax = 32;

void keep_latest(std::vector<std::uint64_t>& ring, std::size_t& seen, std::size_t max, std::uint64_t number) {
  if (ring.size() < max) {
    ring.push_back(number);
  } else {
    ring[seen % max] = number;
  }
  ++seen;
}

bool is_incoming(const RecordEntry& e) { return e.kind == static_cast<std::uint8_t>(EntryKind::incoming); }

}  // namespace

void MessageChoice::see(const RecordEntry& entry) {
  watch_slot(entry);
  const bool is_over = is_incoming(entry) ? entry.arrived != 0 : entry.released != 0;
  if (!is_over) {
    keep_latest(open_, opens_, kOpenMax, entry.number);
  } else if (latest_ - entry.sequence < kOperations) {
    keep_latest(over_, overs_, kOverMax, entry.number);
  }
}

/// Memory that is written, or offered with a new content, while an earlier message still reads it.
void MessageChoice::watch_slot(const RecordEntry& entry) {
  constexpr std::uint32_t kCountMask = (std::uint32_t{1} << kSlotShift) - 1;
  const std::uint32_t slot = entry.epoch >> kSlotShift;
  if (slot == 0) return;
  std::vector<Reading>& readings = readings_[slot];
  const std::uint32_t count = entry.epoch & kCountMask;
  std::erase_if(readings, [&](const Reading& r) { return r.released <= entry.posted; });
  for (const Reading& r : readings) {
    if (r.count == count || rewritten_.size() >= kRewrittenMax) continue;
    rewritten_.insert(r.number);
    rewritten_.insert(entry.number);
  }
  if (is_incoming(entry) || readings.size() >= kReadingsMax) return;
  const std::uint64_t released =
      entry.released == 0 ? UINT64_MAX : entry.posted + (std::uint64_t{entry.released - 1} << kTickShift);
  readings.push_back({entry.number, count, released});
}

std::vector<std::uint64_t> MessageChoice::numbers() const {
  std::vector<std::uint64_t> all(rewritten_.begin(), rewritten_.end());
  all.insert(all.end(), open_.begin(), open_.end());
  all.insert(all.end(), over_.begin(), over_.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace ringcomm::inline v0::diag
