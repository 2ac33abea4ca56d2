// SPDX-License-Identifier: Apache-2.0
// A plan: what happens when, on which rank, as plain data without addresses, sockets or devices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ringcomm/core/descriptor.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0::plan {

/// What one operation does. Between an ordered pair of ranks there are two FIFO lanes: *data* (offer or send
/// on one side, take, pull or recv on the other: the k-th meets the k-th) and *acknowledgement* (release
/// meets reclaim).
enum class OpKind : std::uint8_t {
  offer,    ///< lets `peer` read `slot` in place; non-blocking unless the lane is full
  take,     ///< waits for `peer`'s offer and gets a view of it, nothing is copied
  pull,     ///< waits for `peer`'s offer and copies it into `slot`
  release,  ///< tells `peer` that its oldest offer not yet released is no longer read
  reclaim,  ///< waits until `peer` has released this rank's oldest offer not yet reclaimed
  send,     ///< two-sided: completes when `slot` may be overwritten
  recv,     ///< two-sided: completes when `slot` holds the data
  compute,  ///< reads `slot`, or the view taken from `peer` when slot is kNoSlot; may write `target_slot`
};
std::string_view name_of(OpKind kind);

/// The two queues of a rank. Operations of one queue run in list order; `after` orders across the queues.
enum class StreamRole : std::uint8_t { comm, compute };

inline constexpr std::int32_t kNone = -1;  ///< no peer, slot, group or predecessor

/// Offers that may be outstanding on one lane before the sender has to wait (the transports' mailbox depth).
inline constexpr int kLaneDepth = 8;

struct Op {
  OpKind kind = OpKind::compute;
  StreamRole stream = StreamRole::compute;
  std::int32_t step = 0;
  std::int32_t peer = kNone;
  std::int32_t block = kNone;        ///< whose data, as a rank
  std::int32_t slot = kNone;         ///< read by offer, send and compute; written by pull and recv
  std::int32_t target_slot = kNone;  ///< written by compute
  std::int32_t group = kNone;  ///< sends and recvs with one number are posted together (one transport group)
  std::int32_t after =
      kNone;               ///< index in this slice of an operation of the other queue that must be done first
  std::uint32_t code = 0;  ///< what a compute means to its consumer
  std::uint64_t offset = 0;  ///< first byte inside the slot or block
  std::uint64_t bytes = 0;
  std::uint32_t tile_first = 0;  ///< range in RankPlan::tiles (attention)
  std::uint32_t tile_count = 0;
  friend bool operator==(const Op&, const Op&) = default;
};

/// One block of attention work of a compute: query chunk against key chunk (global chunk numbers of the
/// layout).
struct Tile {
  std::int32_t q_chunk = 0;
  std::int32_t k_chunk = 0;
  friend bool operator==(const Tile&, const Tile&) = default;
};

/// own: the caller's block, never written by the plan. arena: a slot of the communicator. result: where
/// results go.
enum class SlotKind : std::uint8_t { own, arena, result };
struct Slot {
  SlotKind kind = SlotKind::arena;
  std::uint64_t bytes = 0;
  friend bool operator==(const Slot&, const Slot&) = default;
};

/// Everything one rank does in one operation. A value: comparable, hashable, printable.
struct RankPlan {
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  OpCode op = OpCode::none;
  std::int32_t steps = 0;
  std::uint64_t signature = 0;  ///< hash of the rule; equal on all ranks that agree
  std::vector<Slot> slots{};
  std::vector<Op> ops{};
  std::vector<Tile> tiles{};
  friend bool operator==(const RankPlan&, const RankPlan&) = default;

  std::uint64_t arena_bytes() const;
};

/// FNV-1a over the values (not over padding).
std::uint64_t hash(const RankPlan& slice);

/// One line per operation: "step 1  comm     take     from 0  block 0  4096 bytes".
std::string to_text(const RankPlan& slice);

}  // namespace ringcomm::inline v0::plan
#pragma GCC visibility pop
