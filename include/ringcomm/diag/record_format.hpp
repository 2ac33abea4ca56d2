// SPDX-License-Identifier: Apache-2.0
// The flight recorder's file: one per rank and communicator, mapped while the rank runs, readable after
// SIGKILL. Little-endian, version 1. docs/record-format.md states it for readers in other languages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)
namespace ringcomm::inline v0::diag {

// The file is: RecordHeader | ChannelRecord[channel_capacity] | members (i32[member_capacity]) |
// names (name_capacity bytes, NUL-terminated UTF-8 strings; offset 0 is the empty one) | plans
// (plan_capacity bytes) | RecordEntry[entry_capacity]. Each part starts at the offset that the header gives,
// a multiple of 64. The first `size` members are the ranks in the job's first communicator (-1: not known) of
// this communicator's ranks 0, 1, ...; those of the channels follow. Plans: see
// src/diag/record/plan_code.hpp.
inline constexpr std::string_view kRecordMagic{"RCRECORD"};
inline constexpr std::uint32_t kRecordVersion = 1;

enum class RecordState : std::uint32_t { open = 1, failed = 2, closed = 3 };

/// Written once, under `checksum`, but for the live words at its end. Times are ticks of the time-stamp
/// counter (CLOCK_MONOTONIC ns where there is none); ns = clock_realtime_ns + (ticks - clock_ticks) *
/// ns_per_tick.
struct RecordHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;    ///< sizeof(RecordHeader)
  std::uint32_t entry_bytes;     ///< sizeof(RecordEntry)
  std::uint32_t entry_capacity;  ///< a power of two
  std::uint32_t channel_capacity;
  std::uint32_t member_capacity;
  std::uint32_t name_capacity;
  std::uint32_t plan_capacity;
  std::uint64_t channels_offset, members_offset, names_offset, plans_offset, entries_offset, file_bytes;

  std::uint64_t job;           ///< the same on all ranks of one run, not 0
  std::uint64_t communicator;  ///< the same on all its ranks; differs between communicators of a job
  std::int32_t rank, size;     ///< in the communicator
  std::int32_t world_rank;     ///< in the first communicator of the job
  std::int32_t world_size;
  std::uint32_t pid;
  std::uint32_t reserved;
  std::uint64_t clock_ticks;  ///< at creation
  std::int64_t clock_realtime_ns;
  std::int64_t clock_monotonic_ns;
  double ns_per_tick;
  char host[64];  ///< NUL-terminated
  char transport[32];
  char library[32];        ///< version of ringcomm
  std::uint32_t checksum;  ///< CRC-32 (IEEE 802.3) of all bytes before it

  // Live words, each written whole.
  std::uint32_t state;            ///< RecordState
  std::uint64_t entries_written;  ///< entry n lies at n % entry_capacity; n counts from 0
  std::uint32_t channels_used, members_used, names_used, plans_used;
  std::uint32_t failure_name;    ///< offset in names of the failure's sentence; 0: none
  std::int32_t failure_culprit;  ///< rank in the communicator that the failure names, or -1
  std::uint32_t failure_code;    ///< StatusCode
  std::uint32_t dropped;         ///< channels, names and plans for which there was no room
  std::uint64_t arena_high_water_bytes, window_bytes;
  /// Measured again while the rank runs, over its whole life so far: better than ns_per_tick. 0: not yet.
  double ns_per_tick_now;
};

/// What a channel does now; live words only, but for the first line.
struct ChannelRecord {
  std::uint32_t first_member, members;  ///< range in the members part: ranks of the communicator
  std::uint32_t ordinal;
  std::uint32_t name;       ///< offset in names, "" where none was given
  std::uint32_t posted;     ///< sequence of the operation entered last; 0: none yet
  std::uint32_t completed;  ///< of the operation that ended last without an error
  std::uint16_t op;         ///< OpCode entered last
  std::uint8_t dtype, reduce_op;
  std::uint32_t call_site;  ///< offset in names
  std::uint64_t signature;
  std::uint64_t bytes;
  std::uint64_t posted_ticks;     ///< when it was entered
  std::uint64_t completed_ticks;  ///< when that was
  std::int64_t deadline_ns;       ///< CLOCK_MONOTONIC ns; INT64_MAX: none
  std::int32_t step;              ///< step of the wait that runs, or of the last one
  std::int32_t waits_for;         ///< rank in the communicator, or -1
  std::uint64_t waits_since_ticks;
  std::uint64_t wait_ticks;     ///< in which at least one wait ran, up to the end of the last one
  std::uint64_t compute_ticks;  ///< in which a consumer had a block (arrived to computed)
  std::uint64_t entries;        ///< written for this channel
};

/// operation: one collective call. incoming: a block received (take, pull, recv). outgoing: one sent (offer,
/// send).
enum class EntryKind : std::uint8_t { operation = 1, incoming = 2, outgoing = 3 };

/// One cache line. States are distances from `posted` in units of 2^kTickShift ticks, plus one; 0: not
/// reached; the largest value also means later. operation: arrived unused, computed unused, released = left.
/// incoming: posted = wait begins, arrived = data here, computed = consumer done, released = given back.
/// outgoing: posted = offered or sent, released = may be overwritten again.
struct RecordEntry {
  std::uint64_t number;  ///< 1 + index of this entry; 0: being written
  std::uint64_t posted;
  std::uint32_t arrived, computed, released;
  std::uint32_t sequence;
  std::uint16_t op;
  std::uint8_t dtype, reduce_op;
  std::int32_t step;
  union {
    struct {
      std::int32_t peer;   ///< rank in the communicator
      std::int32_t block;  ///< whose data
    } message;
    std::uint64_t signature;  ///< of an operation
  };
  std::uint64_t bytes;
  std::uint16_t channel;
  std::uint8_t kind;  ///< EntryKind
  std::uint8_t code;  ///< 0, or the StatusCode it failed with
  /// operation: call site, an offset in names. message: the slot's number in this channel in the upper 8 bits
  /// (1 ... 255), and how often it has been written, this time included, in the lower 24 (a count that wraps
  /// and is never 0); 0: not known. A slot is the memory that a message reads or is written to.
  std::uint32_t epoch;
};
inline constexpr unsigned kTickShift = 8;
inline constexpr unsigned kSlotShift = 24;
static_assert(sizeof(RecordEntry) == 64);

}  // namespace ringcomm::inline v0::diag
#pragma GCC visibility pop
