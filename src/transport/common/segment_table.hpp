// SPDX-License-Identifier: Apache-2.0
// Memory that can be offered: the own registered segments by address, the peers' segments by id.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ringcomm/core/result.hpp"
#include "ringcomm/device/segment.hpp"
#include "transport/common/control_layout.hpp"
#include "transport/common/peer_memory.hpp"

namespace ringcomm::inline v0::transport {

/// A registered segment that one peer knows; valid while `version` is SegmentTable::version().
struct OwnSegment {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::uint32_t id = 0;
  std::uint64_t version = 0;
  bool contains(const std::byte* address, std::size_t span) const {
    return address >= data && span <= bytes && static_cast<std::size_t>(address - data) <= bytes - span;
  }
};

/// Any thread.
class SegmentTable {
 public:
  /// `directory` is the own control segment's list, through which peers see which ids are still registered.
  SegmentTable(int ranks, std::array<Word, kSegmentsMax>& directory, PeerMemory& memory);

  Status add(std::shared_ptr<Segment> segment);
  void remove(const Segment* segment);
  /// Changes when a segment goes, never when one comes.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  /// The segment with [address, address + bytes), announced to `peer`; invalid_argument when there is none.
  Result<OwnSegment> find(const std::byte* address, std::size_t bytes, int peer);

  /// A peer's segment. `registered` is that peer's list: mappings that it has taken back are dropped.
  Result<std::shared_ptr<Segment>> map(int peer, std::uint32_t id,
                                       const std::array<Word, kSegmentsMax>& registered);
  /// Lets go of `peer`'s segments that it has taken back; whoever holds a reference keeps the mapping.
  void drop_withdrawn(int peer, const std::array<Word, kSegmentsMax>& registered);

 private:
  struct Registered {
    std::shared_ptr<Segment> segment;
    std::uint32_t id = 0;
    std::vector<bool> announced;  ///< by rank
  };
  struct Mapped {
    std::shared_ptr<Segment> segment;
    std::uint32_t id = 0;
  };
  std::mutex mutex_;
  std::array<Word, kSegmentsMax>& directory_;
  PeerMemory& memory_;
  std::atomic<std::uint64_t> version_{1};
  std::uint32_t generation_ = 0;
  std::vector<Registered> own_;              ///< sorted by address
  std::vector<std::vector<Mapped>> mapped_;  ///< by rank
};

}  // namespace ringcomm::inline v0::transport
