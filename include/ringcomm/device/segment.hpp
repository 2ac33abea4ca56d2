// SPDX-License-Identifier: Apache-2.0
// One allocation that peers may map, with its lifetime counted by all who can still read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "ringcomm/core/result.hpp"
#include "ringcomm/core/tensor_view.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// shareable: a nameless memfd, sealed against shrinking, growing and new writable mappings, so that another
/// process can map it read-only by descriptor. local: anonymous memory of this process.
enum class SegmentKind : std::uint8_t { local, shareable };

struct SegmentOptions {
  std::size_t bytes = 0;  ///< rounded up to whole pages; 0 gives one page
  SegmentKind kind = SegmentKind::shareable;
  int memory_node = -1;           ///< best effort; -1 no preference
  bool pin = false;               ///< mlock where RLIMIT_MEMLOCK allows; otherwise logged once, not an error
  std::string name = "ringcomm";  ///< shown in /proc/PID/maps as memfd:<name>
};

class Segment {
 public:
  /// Reads the limits first: out_of_memory names the limit. The pages are touched before this returns.
  static Result<std::shared_ptr<Segment>> create(const SegmentOptions& options);
  /// Maps a peer's descriptor read-only and takes ownership of it. corrupt_data if it is shorter than `bytes`
  /// or not sealed against shrinking (its owner could then kill us with a signal). Closes `fd` also on
  /// failure.
  static Result<std::shared_ptr<Segment>> map_read_only(int fd, std::size_t bytes);
  /// Memory of another allocator (a GPU's, a caller's); `release` runs when the last reader is gone.
  static std::shared_ptr<Segment> adopt(std::byte* data, std::size_t bytes, std::function<void()> release);
  ~Segment();
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// -1 for local memory.
  int fd() const { return fd_; }
  bool is_pinned() const { return is_pinned_; }
  bool contains(const void* address, std::size_t bytes) const;
  /// A forked child must not see it (the arena); windows stay shared. Default: shared.
  Status exclude_from_fork();

 private:
  Segment() = default;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  int fd_ = -1;
  std::function<void()> release_;  ///< of adopted memory
  bool is_pinned_ = false;
  bool is_excluded_from_fork_ = false;
  std::uint32_t fork_generation_ = 0;  ///< of the process that excluded it
};

/// Memory that peers may read without a copy. Move-only; may outlive its communicator; the segment dies with
/// the last reader.
class Window {
 public:
  Window() = default;
  explicit Window(std::shared_ptr<Segment> segment, std::size_t bytes)
      : segment_(std::move(segment)), bytes_(bytes) {}
  Window(Window&&) = default;
  Window& operator=(Window&&) = default;

  std::byte* data() const { return segment_ ? segment_->data() : nullptr; }
  /// As asked for at allocation (the segment is whole pages).
  std::size_t bytes() const { return bytes_; }
  template <class T>
  std::span<T> span() const {
    return {reinterpret_cast<T*>(data()), bytes_ / sizeof(T)};
  }
  const std::shared_ptr<Segment>& segment() const { return segment_; }

 private:
  std::shared_ptr<Segment> segment_;
  std::size_t bytes_ = 0;
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
