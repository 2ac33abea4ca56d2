// SPDX-License-Identifier: Apache-2.0
// The mapped file of one record: its parts, and what is added to them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "diag/record/owned_fd.hpp"
#include "diag/record/tick_clock.hpp"
#include "diag/record/word.hpp"
#include "ringcomm/diag/record_format.hpp"
#include "ringcomm/diag/recorder.hpp"

namespace ringcomm::inline v0::diag {

inline constexpr std::uint32_t kEntriesMin = 64;
inline constexpr std::uint32_t kEntriesMax = std::uint32_t{1} << 22;

/// Sizes and offsets of a file with so many entries, for a communicator of `size` ranks.
RecordHeader layout_of(std::uint32_t entries, int size);

/// A RecordEntry without its number.
using EntryWords = std::array<std::uint64_t, sizeof(RecordEntry) / sizeof(std::uint64_t) - 1>;

/// All members but of `header()` and the parts are for cold paths, and locked.
class RecordFile {
 public:
  /// Null when it is off; `where` says where it lies, or why it is smaller, elsewhere or off.
  static std::unique_ptr<RecordFile> create(const RecordIdentity& identity, const RecorderOptions& options,
                                            std::string& where);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  RecordHeader& header() const { return *header_; }
  ChannelRecord* channels() const { return at<ChannelRecord>(header_->channels_offset); }
  std::int32_t* members() const { return at<std::int32_t>(header_->members_offset); }
  const char* names() const { return at<char>(header_->names_offset); }
  std::byte* plans() const { return at<std::byte>(header_->plans_offset); }
  const TickClock& clock() const { return clock_; }
  const std::filesystem::path& path() const { return path_; }

  RecordEntry& entry(std::uint64_t index) const { return entries_[index & entry_mask_]; }
  /// Writes an entry behind the last one: its words from the second on. Returns its number.
  std::uint64_t append(const EntryWords& words) noexcept {
    const std::uint64_t number = add(header_->entries_written, 1) + 1;
    auto* const to = reinterpret_cast<std::uint64_t*>(&entry(number - 1));
    // Each store is ordered after the one before: a reader that finds one number before and after reading has
    // a whole entry.
    put_last(to[0], 0);
    // Spelt out: as a loop it takes a third of the time that a state takes.
    [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
      (put_last(to[kIndex + 1], words[kIndex]), ...);
    }
    (std::make_index_sequence<std::tuple_size_v<EntryWords>>());
    put_last(to[0], number);
    return number;
  }

  /// Room for a channel's members; null (and counted as dropped) when there is none.
  ChannelRecord* add_channel(std::span<const int> members, std::uint32_t ordinal, std::string_view name);
  /// The offset of `text` in the names part, added where it is new; 0 when there is no room. With
  /// `may_wait` false also when another thread adds one in this moment.
  std::uint32_t intern(std::string_view text, bool may_wait) noexcept;
  void add_plan(std::uint32_t channel, std::uint64_t signature, const plan::RankPlan& slice) noexcept;
  void set_failure(const Status& status, int culprit) noexcept;
  /// Sets ns_per_tick_now, at most about twice a second.
  void refresh_clock(std::uint64_t ticks) noexcept {
    if (ticks - clock_refreshed_.load(std::memory_order_relaxed) > kRefreshTicks) measure_clock(ticks);
  }
  /// Removes the file, unless it failed or is to be kept.
  void finish(bool keep) noexcept;
  void forget() noexcept;

 private:
  static constexpr std::uint64_t kRefreshTicks = std::uint64_t{1} << 30;
  static constexpr std::size_t kNameBuckets = 512;

  RecordFile(std::byte* bytes, const RecordHeader& header, OwnedFd file, std::filesystem::path path);
  template <class T>
  T* at(std::uint64_t offset) const {
    return reinterpret_cast<T*>(bytes_ + offset);
  }
  void measure_clock(std::uint64_t ticks) noexcept;
  std::uint32_t add_name(std::string_view text, std::uint32_t limit);

  std::byte* bytes_;
  RecordHeader* header_;
  RecordEntry* entries_;
  std::uint64_t entry_mask_;
  TickClock clock_;
  std::atomic<std::uint64_t> clock_refreshed_;
  OwnedFd file_;  ///< holds the lock that says that the writer lives
  std::filesystem::path path_;
  std::mutex mutex_;
  std::array<std::uint32_t, kNameBuckets> name_buckets_{};  ///< offsets by hash, 0: free
  std::uint32_t names_known_ = 0;
};

}  // namespace ringcomm::inline v0::diag
