// SPDX-License-Identifier: Apache-2.0
// The words of a rank's control segment: written by their owner alone, read by every peer, valid when zeroed.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "ringcomm/core/descriptor.hpp"

namespace ringcomm::inline v0::transport {

using Word = std::atomic<std::uint32_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == 4, "shared between processes");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(std::atomic<std::uint64_t>) == 8);

/// Two cache lines: the adjacent-line prefetcher of x86 fetches pairs (communication.md 5.2, item 5).
inline constexpr std::size_t kLineBytes = 128;
inline constexpr std::uint32_t kLaneCells = 8;              ///< plan::kLaneDepth (a test compares them)
inline constexpr std::uint32_t kChannelsMax = 512;          ///< directory entries of a rank
inline constexpr std::uint32_t kSegmentsMax = 1024;         ///< segments that a rank has registered at a time
inline constexpr std::uint32_t kControlMagic = 0x52434332;  ///< "RCC2": this layout
inline constexpr std::size_t kFailureTextBytes = 352;

/// True once a monotone 32-bit counter that wraps has come to `epoch`.
inline bool has_reached(std::uint32_t word, std::uint32_t epoch) {
  return static_cast<std::int32_t>(word - epoch) >= 0;
}

enum class Life : std::uint32_t { unborn = 0, live = 1, failed = 2, closed = 3 };

/// Everything but `life` is written before `life` becomes failed, and never again.
struct alignas(kLineBytes) StateBlock {
  Word life;
  std::uint32_t code;     ///< StatusCode
  std::int32_t culprit;   ///< communicator's rank, -1 when there is none
  std::int32_t reporter;  ///< the rank that saw it first
  std::uint32_t text_bytes;
  std::array<char, kFailureTextBytes> text;
};

struct alignas(kLineBytes) IdentityBlock {
  Word magic;
  Word rank;
  Word ranks;
  std::atomic<std::uint64_t> nonce;         ///< proves that a mapping is this very memory
  std::atomic<std::uint64_t> parcels_sent;  ///< descriptors passed over sockets so far (shm)
};

/// `version` is odd once the entry is open and even while it is closed; it counts up, so that a reader that
/// sees the same odd version before and after has read one entry.
struct DirectoryEntry {
  Word version;
  Word generation;  ///< how often this rank had opened the key before
  std::atomic<std::uint64_t> key_hash;
  std::atomic<std::uint64_t> offset;  ///< of the ChannelBlock
  std::uint64_t unused;
};
static_assert(sizeof(DirectoryEntry) == 32);

/// The words of a Descriptor that may be read while their owner rewrites them:
/// `version` is odd meanwhile.
template <std::size_t kWords>
struct SharedWords {
  Word version;
  std::uint32_t unused;
  std::array<std::atomic<std::uint64_t>, kWords> words;

  // Release on each word (instead of a fence, which the thread sanitizer does not understand) keeps the odd
  // version before the words; acquire on each load keeps the second look at the version behind them.
  void write(const std::array<std::uint64_t, kWords>& values) {
    const std::uint32_t before = version.load(std::memory_order_relaxed);
    version.store(before + 1, std::memory_order_relaxed);
    for (std::size_t i = 0; i < kWords; ++i) words[i].store(values[i], std::memory_order_release);
    version.store(before + 2, std::memory_order_release);
  }
  /// One attempt: false when `wanted` is not the version all the while.
  bool read(std::uint32_t wanted, std::array<std::uint64_t, kWords>& values) const {
    if (version.load(std::memory_order_acquire) != wanted) return false;
    for (std::size_t i = 0; i < kWords; ++i) values[i] = words[i].load(std::memory_order_acquire);
    return version.load(std::memory_order_relaxed) == wanted;
  }
};

using SharedDescriptor = SharedWords<4>;
void write_shared(SharedDescriptor& target, const Descriptor& value);
/// One attempt: false while the owner writes.
bool try_read_shared(const SharedDescriptor& source, Descriptor& value);

/// What both sides of a release must agree on: operation, types and sequence, then the signature. (Bytes,
/// step and block are the reader's: it may release at another step than the owner reclaims.)
using ReleaseNote = std::array<std::uint64_t, 2>;
inline ReleaseNote release_note(const Descriptor& d) {
  const auto words = std::bit_cast<std::array<std::uint64_t, 4>>(d);
  return {words[0], words[2]};
}

/// What the owner has entered on the channel, and whom it waits for: read by others only to explain a wait.
struct alignas(kLineBytes) HeadLine {
  SharedDescriptor entered;
  Word awaits;  ///< 1 + position of the member that the owner waits for; 0 while it runs
};

/// Where the data of an offer or send lie in the sender's registered memory.
struct BlockAddress {
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint32_t segment_id;  ///< 0 for an empty block
};

enum class ParcelKind : std::uint32_t { offer = 0, send = 1 };

/// The words of a BlockAddress without its padding, so that a cell is one cache line.
struct Parcel {
  ParcelKind kind;
  std::uint32_t segment_id;
  std::uint64_t offset;
  std::uint64_t bytes;
  Descriptor descriptor;
  BlockAddress address() const { return {.offset = offset, .bytes = bytes, .segment_id = segment_id}; }
};

/// One message of a data lane. The parcel is plain memory: `epoch` is stored after it, and the receiver's
/// `taken` count keeps the sender from rewriting it early. Both lie in one cache line: a receiver that polls
/// `epoch` gets the parcel with it.
struct alignas(kLineBytes) Cell {
  Word epoch;
  Parcel parcel;
};
static_assert(offsetof(Cell, parcel) + sizeof(Parcel) <= 64 && sizeof(Cell) == kLineBytes);

static_assert(offsetof(Descriptor, signature) == 16 && offsetof(Descriptor, bytes) == 8);

struct alignas(kLineBytes) AckLine {
  Word releases;                ///< of the peer's offers, in order
  Word receives;                ///< of the peer's sends, in order
  Word taken;                   ///< TakenLine's at the last release, for who reads that anyway
  SharedWords<2> last_release;  ///< its version is twice `releases`
};
struct alignas(kLineBytes) TakenLine {
  Word taken;  ///< cells of the peer's data lane that it may rewrite
};
/// Which of the peer's words the owner sleeps on.
enum class Sleeping : std::uint32_t { awake = 0, on_data = 1, on_release = 2, on_receive = 3, on_taken = 4 };
struct alignas(kLineBytes) SleepLine {
  Word sleeping;
};

/// All that a rank writes for one peer on one channel.
struct PeerLanes {
  std::array<Cell, kLaneCells> cells;
  AckLine ack;
  TakenLine taken;
  SleepLine sleep;
};

/// Followed by one PeerLanes for each member.
struct ChannelBlock {
  HeadLine head;
  PeerLanes* lanes() { return reinterpret_cast<PeerLanes*>(this + 1); }
  const PeerLanes* lanes() const { return reinterpret_cast<const PeerLanes*>(this + 1); }
};

/// The start of a control segment; channel blocks follow.
struct ControlHeader {
  StateBlock state;
  IdentityBlock identity;
  std::array<DirectoryEntry, kChannelsMax> directory;
  alignas(kLineBytes) std::array<Word, kSegmentsMax> segments;  ///< id of the segment in each slot, 0 if none
};

inline constexpr std::size_t channel_block_bytes(int members) {
  return sizeof(ChannelBlock) + static_cast<std::size_t>(members) * sizeof(PeerLanes);
}

/// Room for 256 channels of all ranks, but at most 16 MiB and at least 8 of them; pages that no channel uses
/// need never be touched.
std::size_t control_segment_bytes(int ranks);

}  // namespace ringcomm::inline v0::transport
