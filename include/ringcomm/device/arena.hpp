// SPDX-License-Identifier: Apache-2.0
// A communicator's own memory: allocated once, handed out in blocks, with a high-water mark and, in debug,
// canaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ringcomm/device/segment.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

class Arena;

/// RAII block of an arena, 64-byte aligned. On return in debug builds its canaries are checked (a broken one
/// aborts naming the block) and it is filled with NaN bytes (0xFF), so that a stale reader shows.
class ArenaBlock {
 public:
  ArenaBlock() = default;
  ArenaBlock(ArenaBlock&& other) noexcept;
  ArenaBlock& operator=(ArenaBlock&& other) noexcept;
  ~ArenaBlock();
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  friend class Arena;
  Arena* arena_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// First-fit with coalescing; a mutex guards it (never taken in steady state: operations keep their blocks).
/// It must outlive its blocks. In a forked child (which may not see the memory) it refuses and releases do
/// nothing.
class Arena {
 public:
  explicit Arena(std::shared_ptr<Segment> segment);
  /// What a block of `bytes` takes away from the capacity, canaries included: for sizing an arena.
  static std::size_t footprint_bytes(std::size_t bytes);
  /// out_of_memory names the bytes wanted, free and in all, and the option that enlarges the arena.
  Result<ArenaBlock> allocate(std::size_t bytes);
  std::size_t capacity_bytes() const;
  /// Whole 64-byte lines of the blocks handed out, without the canaries of a debug build.
  std::size_t used_bytes() const;
  /// The largest used_bytes() so far.
  std::size_t high_water_bytes() const;
  const std::shared_ptr<Segment>& segment() const { return segment_; }
  /// After a failure peers may still read blocks that nobody has given back to us: from now on a returned
  /// block is neither filled nor handed out again.
  void freeze();

 private:
  friend class ArenaBlock;
  void release(std::byte* data, std::size_t bytes);
  struct Free {
    std::size_t offset, bytes;
  };
  std::shared_ptr<Segment> segment_;
  mutable std::mutex mutex_;
  std::vector<Free> free_;  ///< by offset; release() never makes it grow
  std::size_t blocks_ = 0;
  bool is_frozen_ = false;
  std::uint32_t fork_generation_ = 0;
  std::size_t used_bytes_ = 0, high_water_bytes_ = 0;
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
