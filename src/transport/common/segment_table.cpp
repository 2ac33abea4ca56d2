// SPDX-License-Identifier: Apache-2.0
#include "transport/common/segment_table.hpp"

#include <algorithm>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::transport {

SegmentTable::SegmentTable(int ranks, std::array<Word, kSegmentsMax>& directory, PeerMemory& memory)
    : directory_(directory), memory_(memory), mapped_(static_cast<std::size_t>(ranks)) {}

Status SegmentTable::add(std::shared_ptr<Segment> segment) {
  if (segment == nullptr) return Status::invalid_argument("register_segment got a null segment");
  const std::lock_guard lock(mutex_);
  const auto slot = std::find_if(directory_.begin(), directory_.end(),
                                 [](const Word& word) { return word.load(std::memory_order_relaxed) == 0; });
  if (slot == directory_.end()) {
    return Status::out_of_memory(concat("register_segment: ", kSegmentsMax,
                                        " segments are registered already (the most that one rank may "
                                        "have). Are windows that are not needed any more destroyed?"));
  }
  const auto place = std::lower_bound(
      own_.begin(), own_.end(), segment->data(),
      [](const Registered& have, const std::byte* data) { return have.segment->data() < data; });
  if (place != own_.end() && place->segment == segment) return {};
  const auto index = static_cast<std::uint32_t>(slot - directory_.begin());
  if (++generation_ * kSegmentsMax == 0) ++generation_;  // 0 means "no segment"
  const std::uint32_t id = generation_ * kSegmentsMax + index;
  own_.insert(place, {std::move(segment), id, std::vector<bool>(mapped_.size())});
  slot->store(id, std::memory_order_release);
  return {};
}

void SegmentTable::remove(const Segment* segment) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(own_.begin(), own_.end(),
                                  [&](const Registered& have) { return have.segment.get() == segment; });
  if (found == own_.end()) return;
  directory_[found->id % kSegmentsMax].store(0, std::memory_order_release);
  memory_.withdraw(found->id);
  version_.fetch_add(1, std::memory_order_release);
  own_.erase(found);
}

Result<OwnSegment> SegmentTable::find(const std::byte* address, std::size_t bytes, int peer) {
  const std::lock_guard lock(mutex_);
  auto place = std::upper_bound(
      own_.begin(), own_.end(), address,
      [](const std::byte* wanted, const Registered& have) { return wanted < have.segment->data(); });
  if (place == own_.begin() || !(--place)->segment->contains(address, bytes)) {
    return Status::invalid_argument(concat(
        "offer of ", bytes,
        " bytes from memory that is in no registered segment (peers cannot read it). Was it allocated by "
        "Communicator::allocate?"));
  }
  const auto announced = static_cast<std::size_t>(peer);
  if (!place->announced[announced]) {
    RINGCOMM_TRY(memory_.announce(peer, place->id, place->segment));
    place->announced[announced] = true;
  }
  return OwnSegment{.data = place->segment->data(),
                    .bytes = place->segment->bytes(),
                    .id = place->id,
                    .version = version_.load(std::memory_order_relaxed)};
}

void SegmentTable::drop_withdrawn(int peer, const std::array<Word, kSegmentsMax>& registered) {
  const std::lock_guard lock(mutex_);
  std::erase_if(mapped_[static_cast<std::size_t>(peer)], [&](const Mapped& mapped) {
    return registered[mapped.id % kSegmentsMax].load(std::memory_order_acquire) != mapped.id;
  });
}

Result<std::shared_ptr<Segment>> SegmentTable::map(int peer, std::uint32_t id,
                                                   const std::array<Word, kSegmentsMax>& registered) {
  const std::lock_guard lock(mutex_);
  auto& known = mapped_[static_cast<std::size_t>(peer)];
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const Mapped& mapped) { return mapped.id == id; });
  if (found != known.end()) return found->segment;
  std::erase_if(known, [&](const Mapped& mapped) {
    return registered[mapped.id % kSegmentsMax].load(std::memory_order_acquire) != mapped.id;
  });
  RINGCOMM_TRY_ASSIGN(std::shared_ptr<Segment> segment, memory_.map(peer, id));
  known.push_back({segment, id});
  return segment;
}

}  // namespace ringcomm::inline v0::transport
