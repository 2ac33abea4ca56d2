// SPDX-License-Identifier: Apache-2.0
#include "comm/memory_pool.hpp"

#include <algorithm>

#include "core/try.hpp"
#include "device/host/fork_guard.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::comm {

Result<std::shared_ptr<MemoryPool>> MemoryPool::create(const PoolOptions& options) {
  std::shared_ptr<MemoryPool> pool(new MemoryPool(options));
  pool->fork_generation_ = fork_generation();
  const std::lock_guard lock(pool->mutex_);
  RINGCOMM_TRY(pool->add_arena(options.arena_bytes));
  return pool;
}

Status MemoryPool::attach(Transport& transport) {
  const std::lock_guard lock(mutex_);
  transport_ = &transport;
  return transport.register_segment(arenas_.front()->segment());
}

void MemoryPool::close() {
  const std::lock_guard lock(mutex_);
  transport_ = nullptr;
}

void MemoryPool::freeze() {
  const std::lock_guard lock(mutex_);
  if (is_frozen_) return;
  is_frozen_ = true;
  for (const auto& arena : arenas_) arena->freeze();
}

Status MemoryPool::add_arena(std::size_t bytes) {
  SegmentOptions wanted;
  wanted.bytes = bytes;
  wanted.kind = options_.kind;
  wanted.memory_node = options_.memory_node;
  wanted.pin = options_.pin;
  wanted.name = "ringcomm-arena";
  RINGCOMM_TRY_ASSIGN(auto segment, Segment::create(wanted));
  RINGCOMM_TRY(segment->exclude_from_fork());
  if (transport_ != nullptr) RINGCOMM_TRY(transport_->register_segment(segment));
  arenas_.push_back(std::make_unique<Arena>(std::move(segment)));
  return {};
}

Result<ArenaBlock> MemoryPool::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  for (const auto& arena : arenas_) {
    auto block = arena->allocate(bytes);
    if (block.is_ok() || block.status().code() != StatusCode::out_of_memory) return block;
  }
  const std::size_t grown = std::max(Arena::footprint_bytes(bytes), options_.arena_bytes);
  log(LogLevel::info,
      concat("arena of ", format_bytes(options_.arena_bytes), " is full: a block of ", format_bytes(bytes),
             " takes a further segment of ", format_bytes(grown),
             " (RINGCOMM_ARENA_BYTES or CommunicatorOptions::arena_bytes allocates it at the start)"));
  RINGCOMM_TRY(add_arena(grown));
  return arenas_.back()->allocate(bytes);
}

Result<Window> MemoryPool::allocate_window(std::size_t bytes) {
  SegmentOptions wanted;
  wanted.bytes = bytes;
  wanted.kind = options_.kind;
  wanted.memory_node = options_.memory_node;
  wanted.name = "ringcomm-window";
  RINGCOMM_TRY_ASSIGN(auto segment, Segment::create(wanted));
  const std::lock_guard lock(mutex_);
  if (transport_ == nullptr)
    return Status::not_available("allocate() on a communicator that is being destroyed");
  RINGCOMM_TRY(transport_->register_segment(segment));
  windows_.push_back(segment.get());
  // The window's owners share this pointer; the last of them takes the segment back from the transport, whose
  // own reference would keep it alive.
  std::shared_ptr<Segment> counted(segment.get(), [segment, pool = weak_from_this()](Segment* owned) mutable {
    if (auto alive = pool.lock()) alive->drop_window(owned);
    segment.reset();
  });
  return Window(std::move(counted), bytes);
}

void MemoryPool::drop_window(const Segment* segment) {
  if (fork_generation_ != fork_generation()) return;
  const std::lock_guard lock(mutex_);
  std::erase(windows_, segment);
  if (transport_ != nullptr) transport_->deregister_segment(segment);
}

bool MemoryPool::is_offerable(const void* address, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(windows_, [&](const Segment* s) { return s->contains(address, bytes); }) ||
         std::ranges::any_of(arenas_, [&](const auto& a) { return a->segment()->contains(address, bytes); });
}

std::size_t MemoryPool::arena_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& arena : arenas_) sum += arena->segment()->bytes();
  return sum;
}

std::size_t MemoryPool::high_water_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& arena : arenas_) sum += arena->high_water_bytes();
  return sum;
}

std::size_t MemoryPool::window_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const Segment* window : windows_) sum += window->bytes();
  return sum;
}

std::size_t MemoryPool::pinned_bytes() const {
  const std::lock_guard lock(mutex_);
  std::size_t sum = 0;
  for (const auto& arena : arenas_) sum += arena->segment()->is_pinned() ? arena->segment()->bytes() : 0;
  return sum;
}

}  // namespace ringcomm::inline v0::comm
