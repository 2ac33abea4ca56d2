// SPDX-License-Identifier: Apache-2.0
// What collectives keep with a channel: lowered programs, and the operation that may still run in a stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "collectives/executor.hpp"

namespace ringcomm::inline v0::collectives {

/// Everything that a lowered program depends on: the rule and the addresses.
class ProgramKey {
 public:
  static constexpr std::size_t kWordsMax = 48;
  ProgramKey& add(std::uint64_t word) {
    words_[count_++ % kWordsMax] = word;
    return *this;
  }
  ProgramKey& add(std::int64_t word) { return add(static_cast<std::uint64_t>(word)); }
  ProgramKey& add(const void* address) {
    return add(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(address)));
  }
  /// Address, type, shape and strides.
  ProgramKey& add(const TensorView& view);
  friend bool operator==(const ProgramKey&, const ProgramKey&) = default;

 private:
  std::array<std::uint64_t, kWordsMax> words_{};
  std::size_t count_ = 0;
};

/// The few programs used last; the oldest gives way.
class ProgramCache {
 public:
  static constexpr std::size_t kProgramsMax = 16;
  /// `list` is compared too (counts by rank). Null when it is not here.
  std::shared_ptr<Runnable> find(const ProgramKey& key, std::span<const std::int64_t> list);
  void insert(const ProgramKey& key, std::span<const std::int64_t> list, std::shared_ptr<Runnable> made);

 private:
  struct Entry {
    ProgramKey key;
    std::vector<std::int64_t> list;
    std::shared_ptr<Runnable> runnable;
    std::uint64_t last_used = 0;
  };
  std::vector<Entry> entries_;
  std::uint64_t clock_ = 0;
};

/// How many messages have gone from one member to another: the sequence numbers of send_recv, which takes
/// only the members of its pairs (docs/decisions/0008). Touched where operations run, in stream order.
class PairCounts {
 public:
  explicit PairCounts(int members)
      : sent_(static_cast<std::size_t>(members)), received_(static_cast<std::size_t>(members)) {}
  /// From 1, as channel sequences.
  std::uint32_t next(bool is_send, int peer) {
    return ++(is_send ? sent_ : received_)[static_cast<std::size_t>(peer)];
  }

 private:
  std::vector<std::uint32_t> sent_;
  std::vector<std::uint32_t> received_;
};

class ChannelState {
 public:
  explicit ChannelState(Channel& channel) : pair_counts(channel.size()), channel_(channel) {}
  /// Lets an unfinished operation end, and peers give back merged rows, for kDrain each; then fails the
  /// communicator.
  ~ChannelState();
  ChannelState(const ChannelState&) = delete;
  ChannelState& operator=(const ChannelState&) = delete;
  static ChannelState& of(Channel& channel);

  ProgramCache programs;
  PairCounts pair_counts;
  std::vector<std::int64_t> scratch;  ///< of a call, kept so that repeated calls allocate nothing
  /// Lanes serve one thread or stream at a time: waits for the last stream-ordered operation unless the next
  /// one follows it on the same stream. Its failure is returned by the health check, not here.
  Status settle(StreamView next, Deadline deadline);
  void set_running(std::shared_ptr<Work::State> work, StreamView stream);

  /// The last run of `runnable` left its results where they lie: peers read them until they have released
  /// them, and this rank reads theirs. Keeps it until the next operation. Returns the number of this loan.
  std::uint64_t lend(std::shared_ptr<Runnable> runnable);
  /// Releases the peers' results unless that has been done, or `loan` is over. Waits for nobody.
  Status give_back(std::uint64_t loan);

 private:
  Status release_results();
  /// Waits until no peer reads what was lent.
  Status end_loan(Deadline deadline);

  Channel& channel_;
  std::shared_ptr<Runnable> lender_;
  std::uint64_t loans_ = 0;
  bool are_results_held_ = false;
  std::shared_ptr<Work::State> running_;
  StreamImpl* stream_ = nullptr;
};

}  // namespace ringcomm::inline v0::collectives
