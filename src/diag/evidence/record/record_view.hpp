// SPDX-License-Identifier: Apache-2.0
// The bytes of a record, every number of which may be a lie.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/core/result.hpp"
#include "ringcomm/diag/record_format.hpp"

namespace ringcomm::inline v0::diag {

/// Copies what it needs except the entries: `bytes` outlives it.
class RecordView {
 public:
  /// An error says why the bytes are no record that this version reads.
  static Result<RecordView> of(std::string_view bytes);

  struct Channel {
    ChannelRecord live{};
    std::vector<int> members{};  ///< ranks of the communicator
    std::string name{}, call_site{};
  };

  const RecordHeader& header() const { return header_; }
  const std::vector<Channel>& channels() const { return channels_; }
  /// In the job's first communicator, of a rank of this one; -1: not known.
  int world_rank(int rank) const;
  /// "" for an offset that is none. Control characters and broken UTF-8 are replaced.
  std::string name(std::uint32_t offset) const;
  std::span<const std::byte> plans() const { return plans_; }

  /// Numbers of the first entry that is still there and of the one behind the last.
  std::uint64_t first_number() const;
  std::uint64_t end_number() const { return header_.entries_written + 1; }
  /// Nothing where it was being written, is not in the file any more, or is nonsense.
  std::optional<RecordEntry> entry(std::uint64_t number) const;

  /// CLOCK_REALTIME of a time stamp.
  std::int64_t realtime_ns(std::uint64_t ticks) const;
  std::int64_t monotonic_ns(std::uint64_t ticks) const;
  std::uint64_t ticks_of(std::uint64_t posted, std::uint32_t distance) const;
  /// Of a span of ticks.
  std::int64_t span_ns(std::uint64_t ticks) const;
  /// What is wrong with the file although it can be read: "ends inside entry 12"; empty: nothing.
  const std::string& note() const { return note_; }

 private:
  Status check_header() const;
  void read_channels();
  double ns_per_tick() const;

  std::string_view bytes_;
  RecordHeader header_{};
  std::vector<Channel> channels_;
  std::vector<std::int32_t> members_;
  std::string_view names_;
  std::span<const std::byte> plans_;
  std::uint64_t entries_in_file_ = 0;
  std::string note_;
};

}  // namespace ringcomm::inline v0::diag
