// SPDX-License-Identifier: Apache-2.0
// A communicator's memory that peers can read: its arenas, and the windows it gave out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "ringcomm/core/placement.hpp"
#include "ringcomm/device/arena.hpp"
#include "ringcomm/device/segment.hpp"
#include "ringcomm/transport/transport.hpp"

namespace ringcomm::inline v0::comm {

struct PoolOptions {
  SegmentKind kind = SegmentKind::local;
  int memory_node = -1;
  std::size_t arena_bytes = 0;
  bool pin = false;
};

/// Shared with the windows, which may outlive the communicator: close() cuts them off the transport. Any
/// thread.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
 public:
  /// Allocates the first arena; no transport knows it yet.
  static Result<std::shared_ptr<MemoryPool>> create(const PoolOptions& options);
  /// Registers the first arena and keeps `transport` until close().
  Status attach(Transport& transport);
  void close();
  /// After a failure: what peers may still read is left as it is, until the segments die with their last
  /// reader.
  void freeze();

  Result<ArenaBlock> allocate(std::size_t bytes);
  Result<Window> allocate_window(std::size_t bytes);
  bool is_offerable(const void* address, std::size_t bytes) const;
  std::size_t arena_bytes() const;
  std::size_t high_water_bytes() const;
  std::size_t window_bytes() const;
  std::size_t pinned_bytes() const;

 private:
  explicit MemoryPool(const PoolOptions& options) : options_(options) {}
  Status add_arena(std::size_t bytes);
  void drop_window(const Segment* segment);

  PoolOptions options_;
  std::uint32_t fork_generation_ = 0;
  mutable std::mutex mutex_;
  Transport* transport_ = nullptr;
  std::vector<std::unique_ptr<Arena>> arenas_;
  std::vector<const Segment*> windows_;
  bool is_frozen_ = false;
};

}  // namespace ringcomm::inline v0::comm
