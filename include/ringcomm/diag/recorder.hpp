// SPDX-License-Identifier: Apache-2.0
// The flight recorder of one rank in one communicator, and the folder where records lie.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/core/event_sink.hpp"
#include "ringcomm/core/result.hpp"
#include "ringcomm/diag/record_format.hpp"
#include "ringcomm/plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0::diag {

/// Who writes a record; RecordHeader has the same fields.
struct RecordIdentity {
  std::uint64_t job = 0;
  std::uint64_t communicator = 0;
  int rank = 0, size = 1;
  int world_rank = 0, world_size = 1;
  std::string transport{};
  /// [size] ranks in the job's first communicator of this one's ranks. Empty: 0, 1, ... where both have the
  /// same size, else not known.
  std::vector<int> world_ranks{};
};

struct RecorderOptions {
  /// Empty: /dev/shm/ringcomm-<uid> where /dev/shm is a tmpfs with room, else $TMPDIR (or
  /// /tmp)/ringcomm-<uid>. Made with mode 0700; refused when it is a link, somebody else's, or open to others
  /// (a folder named here: writable by others). One that is refused is followed by the others.
  std::filesystem::path folder{};
  std::uint32_t entries = 4096;  ///< rounded up to a power of two; 64 bytes each
};

/// Always on: never fails the caller's work. Files are owner-only (0600), allocated before use; with no room
/// a smaller ring (down to 64 entries), then the next folder, then none (is_on() false; where() says why).
/// Removed on close(); left behind otherwise. Cost: docs/performance.md (14 to 35 ns per state); no lock, no
/// allocation after open_channel().
class Recorder final : public EventSink {
 public:
  static std::unique_ptr<Recorder> create(const RecordIdentity& identity,
                                          const RecorderOptions& options = {});
  ~Recorder() override;  ///< without close() the file stays
  ChannelSink* open_channel(std::span<const int> members, std::uint32_t ordinal,
                            std::string_view name) noexcept override;
  /// The plan that the next operations of the channel follow, with `signature` as in their descriptors; kept
  /// once.
  void keep_plan(ChannelSink* channel, std::uint64_t signature, const plan::RankPlan& slice) noexcept;
  /// The communicator's failure: marks the record, which then survives close().
  void fail(const Status& status, int culprit) noexcept;
  void set_memory(std::uint64_t arena_high_water_bytes, std::uint64_t window_bytes) noexcept;
  /// Clean end: removes the file, unless fail() was called or `keep`.
  void close(bool keep = false) noexcept;
  /// In a forked child: the mapping is dropped, the parent's file stays as it is.
  void forget() noexcept;

  bool is_on() const;
  const std::filesystem::path& path() const;  ///< empty when off
  const std::string& where() const;  ///< "recorder: /dev/shm/..., 4096 entries" or why it is smaller or off

 private:
  struct Impl;
  explicit Recorder(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Where records of this user lie, existing ones only: those used by this process, RINGCOMM_RECORD_DIR, and
/// the folders that are taken without it.
std::vector<std::filesystem::path> record_folders();
/// Removes records of dead processes, oldest first, while those of one folder take more than `keep_bytes`.
/// Called by create().
void trim_records(const std::filesystem::path& folder, std::uint64_t keep_bytes = std::uint64_t{32} << 20);

}  // namespace ringcomm::inline v0::diag
#pragma GCC visibility pop
