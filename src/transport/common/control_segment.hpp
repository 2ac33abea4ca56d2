// SPDX-License-Identifier: Apache-2.0
// The owner's side of a control segment: hands out channel blocks and lists them in the directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "ringcomm/core/result.hpp"
#include "transport/common/control_layout.hpp"

namespace ringcomm::inline v0::transport {

/// Which channel an entry is about: the same on all members.
struct ChannelId {
  std::uint64_t key_hash = 0;
  std::uint32_t generation = 0;
  friend bool operator==(const ChannelId&, const ChannelId&) = default;
};

/// closed: also a channel that its owner has closed since, as long as the block has no new use.
enum class Found : std::uint8_t { open, closed };

/// The channel's block in somebody's control segment of `bytes` bytes, null while there is none (or the entry
/// points outside).
const ChannelBlock* find_channel(const std::byte* control, std::size_t bytes, const ChannelId& id,
                                 Found wanted = Found::open);

/// Not thread-safe: the transport's lock is held.
class ControlSegment {
 public:
  /// `memory` is zeroed and outlives this.
  ControlSegment(std::byte* memory, std::size_t bytes);
  ControlHeader& header() { return *header_; }

  struct Lease {
    ChannelId id;
    std::uint32_t entry = 0;
    ChannelBlock* block = nullptr;
    std::size_t bytes = 0;
    std::vector<int> members;
  };
  /// True while `rank` may still read the block of this channel.
  using MayRead = std::function<bool(int rank, const ChannelId& id)>;

  /// Resets a block for the members and lists it. out_of_memory when neither fresh room nor a closed block
  /// that nobody reads any more is left.
  Result<Lease> open(const ChannelId& id, std::vector<int> members, std::uint32_t first_epoch,
                     const MayRead& may_read);
  /// Takes it off the list; its room is reused once no member may read it.
  void close(Lease lease);

 private:
  bool reuse(Lease& wanted, const MayRead& may_read);
  Status take_fresh(Lease& wanted);

  std::byte* memory_;
  std::size_t bytes_;
  ControlHeader* header_;
  std::size_t used_bytes_ = sizeof(ControlHeader);
  std::uint32_t entries_used_ = 0;
  std::vector<Lease> closed_;
};

}  // namespace ringcomm::inline v0::transport
