// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/device/arena.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/assert.hpp"
#include "device/host/fork_guard.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

constexpr std::size_t kLineBytes = 64;
#ifdef NDEBUG
constexpr bool kIsChecked = false;
#else
constexpr bool kIsChecked = true;
#endif
constexpr std::size_t kCanaryBytes = kIsChecked ? kLineBytes : 0;
constexpr unsigned char kCanary = 0xC5;
constexpr unsigned char kNanFill = 0xFF;  // a NaN in every floating-point type

/// An empty block keeps a line of its own, so that two of them have different addresses.
std::size_t whole_lines(std::size_t bytes) {
  return bytes == 0 ? kLineBytes : (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

/// The back canary begins right behind the last byte, so that an overrun within the last line shows too.
std::size_t back_canary_bytes(std::size_t bytes) { return whole_lines(bytes) - bytes + kCanaryBytes; }

void write_canaries(std::byte* data, std::size_t bytes) {
  std::memset(data - kCanaryBytes, kCanary, kCanaryBytes);
  std::memset(data + bytes, kCanary, back_canary_bytes(bytes));
}

bool is_intact(const std::byte* first, std::size_t bytes) {
  return std::all_of(first, first + bytes, [](std::byte b) { return b == std::byte{kCanary}; });
}

void check_canaries(const std::byte* data, std::size_t bytes, std::size_t offset) {
  const bool is_front_intact = is_intact(data - kCanaryBytes, kCanaryBytes);
  if (is_front_intact && is_intact(data + bytes, back_canary_bytes(bytes))) return;
  std::fprintf(stderr,
               "ringcomm: arena block of %zu bytes at offset %zu: the canary %s it was overwritten (somebody "
               "wrote outside of the block)\n",
               bytes, offset, is_front_intact ? "behind" : "before");
  std::abort();
}

}  // namespace

ArenaBlock::ArenaBlock(ArenaBlock&& other) noexcept
    : arena_(std::exchange(other.arena_, nullptr)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

ArenaBlock& ArenaBlock::operator=(ArenaBlock&& other) noexcept {
  if (this != &other) {
    if (arena_ != nullptr) arena_->release(data_, bytes_);
    arena_ = std::exchange(other.arena_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

ArenaBlock::~ArenaBlock() {
  if (arena_ != nullptr) arena_->release(data_, bytes_);
}

Arena::Arena(std::shared_ptr<Segment> segment)
    : segment_(std::move(segment)), fork_generation_(fork_generation()) {
  free_.push_back({0, segment_->bytes()});
}

std::size_t Arena::footprint_bytes(std::size_t bytes) { return whole_lines(bytes) + 2 * kCanaryBytes; }

Result<ArenaBlock> Arena::allocate(std::size_t bytes) {
  if (fork_generation_ != fork_generation()) {
    return Status::aborted(
        "arena used in a forked child (a communicator belongs to the process that made it)");
  }
  const std::lock_guard lock(mutex_);
  std::size_t free_bytes = 0, largest_bytes = 0;
  for (const Free& range : free_) {
    free_bytes += range.bytes;
    largest_bytes = std::max(largest_bytes, range.bytes);
  }
  // Compared first with the largest range, so that the footprint of absurd sizes cannot overflow.
  if (bytes > largest_bytes || footprint_bytes(bytes) > largest_bytes) {
    return Status::out_of_memory(
        concat("arena block of ", bytes, " bytes does not fit: ", free_bytes, " bytes free (largest range ",
               largest_bytes, ") of ", segment_->bytes(),
               ". Enlarge CommunicatorOptions::arena_bytes or RINGCOMM_ARENA_BYTES"));
  }
  const std::size_t footprint = footprint_bytes(bytes);
  free_.reserve(blocks_ + 2);  // that many ranges can lie between the blocks
  const auto range =
      std::find_if(free_.begin(), free_.end(), [&](const Free& f) { return f.bytes >= footprint; });
  ArenaBlock block;
  block.arena_ = this;
  block.data_ = segment_->data() + range->offset + kCanaryBytes;
  block.bytes_ = bytes;
  range->offset += footprint;
  range->bytes -= footprint;
  if (range->bytes == 0) free_.erase(range);
  ++blocks_;
  used_bytes_ += whole_lines(bytes);
  high_water_bytes_ = std::max(high_water_bytes_, used_bytes_);
  if (kIsChecked) write_canaries(block.data_, bytes);
  return block;
}

void Arena::release(std::byte* data, std::size_t bytes) {
  if (fork_generation_ != fork_generation()) return;
  const std::lock_guard lock(mutex_);
  const auto offset = static_cast<std::size_t>(data - segment_->data()) - kCanaryBytes;
  const std::size_t footprint = footprint_bytes(bytes);
  if (kIsChecked) check_canaries(data, bytes, offset + kCanaryBytes);
  if (is_frozen_) return;
  if (kIsChecked) std::memset(segment_->data() + offset, kNanFill, footprint);
  const auto next =
      std::find_if(free_.begin(), free_.end(), [&](const Free& f) { return f.offset > offset; });
  const bool joins_next = next != free_.end() && offset + footprint == next->offset;
  const bool joins_previous = next != free_.begin() && (next - 1)->offset + (next - 1)->bytes == offset;
  if (joins_previous) {
    (next - 1)->bytes += footprint + (joins_next ? next->bytes : 0);
    if (joins_next) free_.erase(next);
  } else if (joins_next) {
    next->offset = offset;
    next->bytes += footprint;
  } else {
    RINGCOMM_ASSERT(free_.size() < free_.capacity());
    free_.insert(next, {offset, footprint});
  }
  --blocks_;
  used_bytes_ -= whole_lines(bytes);
}

void Arena::freeze() {
  const std::lock_guard lock(mutex_);
  is_frozen_ = true;
}

std::size_t Arena::capacity_bytes() const { return segment_->bytes(); }

std::size_t Arena::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

std::size_t Arena::high_water_bytes() const {
  const std::lock_guard lock(mutex_);
  return high_water_bytes_;
}

}  // namespace ringcomm::inline v0
