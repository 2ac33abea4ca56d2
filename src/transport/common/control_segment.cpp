// SPDX-License-Identifier: Apache-2.0
#include "transport/common/control_segment.hpp"

#include <algorithm>
#include <utility>

#include "ringcomm/core/text.hpp"
#include "transport/common/lane.hpp"

namespace ringcomm::inline v0::transport {

// A reused entry keeps its offset and is filled after its lanes are reset, so that an entry read half old and
// half new can only be found under the new id, and is then ready.
const ChannelBlock* find_channel(const std::byte* control, std::size_t bytes, const ChannelId& id,
                                 Found wanted) {
  const auto& header = *reinterpret_cast<const ControlHeader*>(control);
  for (const DirectoryEntry& entry : header.directory) {
    const std::uint32_t version = entry.version.load(std::memory_order_acquire);
    if (version == 0) break;  // entries are used in order
    if (version % 2 == 0 && wanted == Found::open) continue;
    const ChannelId found{.key_hash = entry.key_hash.load(std::memory_order_acquire),
                          .generation = entry.generation.load(std::memory_order_acquire)};
    const std::uint64_t offset = entry.offset.load(std::memory_order_acquire);
    if (entry.version.load(std::memory_order_relaxed) != version || found != id) continue;
    if (offset < sizeof(ControlHeader) || offset % kLineBytes != 0 || offset > bytes) return nullptr;
    return reinterpret_cast<const ChannelBlock*>(control + offset);
  }
  return nullptr;
}

ControlSegment::ControlSegment(std::byte* memory, std::size_t bytes)
    : memory_(memory), bytes_(bytes), header_(reinterpret_cast<ControlHeader*>(memory)) {}

bool ControlSegment::reuse(Lease& wanted, const MayRead& may_read) {
  const auto is_free = [&](const Lease& lease) {
    return lease.bytes >= wanted.bytes &&
           std::none_of(lease.members.begin(), lease.members.end(),
                        [&](int member) { return may_read(member, lease.id); });
  };
  const auto found = std::find_if(closed_.begin(), closed_.end(), is_free);
  if (found == closed_.end()) return false;
  wanted.entry = found->entry;
  wanted.block = found->block;
  wanted.bytes = found->bytes;
  closed_.erase(found);
  return true;
}

Status ControlSegment::take_fresh(Lease& wanted) {
  if (entries_used_ == kChannelsMax || wanted.bytes > bytes_ - used_bytes_) {
    return Status::out_of_memory(
        concat("no room for another channel of ", wanted.members.size(), " ranks: ", entries_used_,
               " are open or still read by a peer (at most ", kChannelsMax, ", in ", format_bytes(bytes_),
               "). Are channels that are not needed any more closed on all members?"));
  }
  wanted.block = reinterpret_cast<ChannelBlock*>(memory_ + used_bytes_);
  wanted.entry = entries_used_++;
  used_bytes_ += wanted.bytes;
  return {};
}

Result<ControlSegment::Lease> ControlSegment::open(const ChannelId& id, std::vector<int> members,
                                                   std::uint32_t first_epoch, const MayRead& may_read) {
  const std::size_t count = members.size();
  Lease lease{.id = id, .bytes = channel_block_bytes(static_cast<int>(count)), .members = std::move(members)};
  if (!reuse(lease, may_read)) {
    if (Status status = take_fresh(lease); !status.is_ok()) return status;
  }
  lease.block->head.awaits.store(0, std::memory_order_relaxed);
  write_shared(lease.block->head.entered, Descriptor{});
  for (std::size_t i = 0; i < count; ++i) reset_lane(lease.block->lanes()[i], first_epoch);

  DirectoryEntry& entry = header_->directory[lease.entry];
  const auto offset = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(lease.block) - memory_);
  entry.key_hash.store(id.key_hash, std::memory_order_release);
  entry.generation.store(id.generation, std::memory_order_release);
  entry.offset.store(offset, std::memory_order_release);
  entry.version.fetch_add(1, std::memory_order_release);
  return lease;
}

void ControlSegment::close(Lease lease) {
  header_->directory[lease.entry].version.fetch_add(1, std::memory_order_release);
  closed_.push_back(std::move(lease));
}

}  // namespace ringcomm::inline v0::transport
