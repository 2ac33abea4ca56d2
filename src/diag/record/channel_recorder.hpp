// SPDX-License-Identifier: Apache-2.0
// What one channel tells, written into its record.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "diag/record/record_file.hpp"
#include "diag/record/slot_table.hpp"
#include "ringcomm/core/event_sink.hpp"

namespace ringcomm::inline v0::diag {

class ChannelRecorder final : public ChannelSink {
 public:
  /// `file` outlives it; `channel` lies in it. Throws std::bad_alloc.
  ChannelRecorder(RecordFile& file, ChannelRecord& channel, std::span<const int> members);

  void enter(const Descriptor& descriptor, std::int64_t deadline_ns,
             std::string_view call_site) noexcept override;
  void leave(const Descriptor& descriptor, StatusCode code) noexcept override;
  void record(Direction direction, const Descriptor& descriptor, int peer, const void* block,
              OpState state) noexcept override;
  void record_at(Direction direction, const Descriptor& descriptor, int peer, const void* block,
                 OpState state, Instant& when) noexcept override;

  std::uint32_t index() const { return index_; }

 private:
  /// Messages of one direction with one peer that still have states to reach; older ones are given up.
  static constexpr std::uint32_t kDepth = 16;
  static constexpr std::uint32_t kNobody = 0xffffffffU;
  /// What is touched in every call lies in one cache line. Two threads may be here: what reached[], posted
  /// and numbers[] are for; the other words are the posting thread's.
  struct alignas(64) Lane {
    std::uint32_t posted;  ///< messages so far; wraps. Written by the posting thread
    /// How many have arrived, were computed, released: one word per state, because an overlapped relay says
    /// the last two from its consumer's thread.
    std::array<std::uint32_t, 3> reached;
    // Of the incoming direction: the list of peers that are waited for, the longest first.
    std::uint64_t waits_since;
    std::uint32_t waits;  ///< that run
    std::uint32_t next, previous;
    alignas(64) std::array<std::uint64_t, kDepth> numbers;  ///< of its entry; message i at i % kDepth
    std::array<std::uint32_t, kDepth> epochs;
  };
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  struct OpenOperation {
    std::uint32_t sequence = 0;
    std::uint64_t number = 0;
  };
  struct KnownSite {
    const char* text = nullptr;
    std::size_t bytes = 0;
    std::uint32_t offset = 0;
  };

  std::uint32_t position_of(int peer) const;
  std::uint32_t site_of(std::string_view call_site) noexcept;
  RecordEntry* entry_of(std::uint64_t number) const;
  std::uint32_t first_without(Lane& lane, OpState state) const;
  std::uint32_t find(Lane& lane, OpState state, const Descriptor& descriptor, std::uint32_t posted) const;
  void reach(Lane& lane, Direction direction, OpState state, std::uint32_t message, bool is_failure,
             std::uint64_t now);
  void give_up(Lane& lane, std::uint32_t message) noexcept;
  void post(Lane& lane, Direction direction, const Descriptor& descriptor, int peer, const void* block,
            std::uint32_t arrived, std::uint64_t now);
  void begin_wait(std::uint32_t position, std::uint64_t now);
  void end_wait(std::uint32_t position, std::uint64_t now);
  void show_wait();
  void count_compute(std::uint64_t arrived, std::uint64_t now);

  RecordFile& file_;
  ChannelRecord& channel_;
  std::uint16_t index_;
  TickClock clock_;
  std::vector<int> members_;
  std::vector<std::uint32_t> positions_;       ///< by rank of the communicator; empty where they are the same
  std::unique_ptr<void, Free> memory_;         ///< of the lanes; zero pages until used
  Lane* lanes_ = nullptr;                      ///< incoming of all members, then outgoing
  std::array<OpenOperation, 8> operations_{};  ///< entered last, by sequence
  std::array<KnownSite, 16> sites_{};
  SlotTable slots_;
  std::uint32_t first_waited_ = kNobody, last_waited_ = kNobody;
  std::uint64_t waiting_since_ = 0;
  std::uint64_t computed_until_ = 0;  ///< the consumer's thread's
};

}  // namespace ringcomm::inline v0::diag
