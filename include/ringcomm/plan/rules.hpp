// SPDX-License-Identifier: Apache-2.0
// The small rules from which any rank's slice of a plan is derived, by anyone, without communication.
#pragma once

#include <cstdint>
#include <vector>

#include "ringcomm/core/result.hpp"
#include "ringcomm/plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0::plan {

/// How a transport gives access to a peer's memory: in place (offer, take, pull, release, reclaim), or by
/// messages (send, recv) only.
enum class Access : std::uint8_t { direct_read, two_sided };

enum class RotationMode : std::uint8_t {
  direct,  ///< step t reads the block of rank (r - t) mod N in its owner's memory; needs Access::direct_read
  relay,   ///< every block travels round the ring through two slots per rank
};
enum class Overlap : std::uint8_t { off, on };  ///< on: step t+1 is received while step t is computed

/// Meaning of Op::code in the plans below. Bytes read are [0, bytes) of a view, [offset, offset + bytes) of a
/// slot.
enum class ComputeCode : std::uint32_t {
  /// Hand the block to the caller (a rotation step), or copy it to its place (all-gather). With a target_slot
  /// the source is read from its beginning and `offset` is the place inside target_slot; without one, and
  /// from
  /// a result slot, the block is already in its place.
  consume = 0,
  /// k-way merge of all partials of the row range [offset, offset + bytes) into the beginning of target_slot:
  /// of `slot` the range itself, of every peer the view held from it or the beginning of its slot 2 + peer.
  merge = 1,
  copy_result = 2,  ///< copy the merged rows of `block` to the caller's output
  /// Merge the first `bytes` of `slot` with those of the slot behind it, which arrived from `peer`, into the
  /// beginning of target_slot; what the lower of the two ranks had comes first.
  merge_pair = 3
};

/// In all slices the transfers of a rank are on one queue; list order is an order in which one thread can run
/// a whole slice (all ranks doing so) without deadlock; an offer, its take or pull, its release and its
/// reclaim carry the same step, block and bytes.

/// Ring rotation over `ranks`: at step t = 0..N-1 the rank at place p of the ring consumes the block of the
/// one at place (p - t*direction) mod N.
struct RotationRule {
  int ranks = 1;
  Access access = Access::direct_read;
  RotationMode mode = RotationMode::direct;
  Overlap overlap = Overlap::on;
  int direction = +1;                        ///< +1: data moves from place p to p+1; -1: to p-1
  std::vector<int> order{};                  ///< [ranks] who is at place p, a permutation; empty: rank p
  std::vector<std::uint64_t> block_bytes{};  ///< [ranks]; 0 is legal and still takes part
  std::uint64_t chunk_bytes = 0;  ///< relay: a step's message is cut into chunks of this size; 0 = whole
  /// [ranks * ranks], needed[r * ranks + s] != 0 if rank r reads the block of s; empty means all. A block
  /// nobody further on reads does not travel; a step whose block r does not need has no compute.
  std::vector<std::uint8_t> needed{};
};
/// invalid_argument names the value that is wrong. Slot 0 is the own block; relay adds arena slots 1 and 2,
/// each as large as the largest block that this rank receives. Direct: everything on the compute queue. Relay
/// with overlap off: the same operations on the compute queue, without `after`. In a group, an `after` of any
/// member holds back the whole group.
Result<RankPlan> rotation_slice(const RotationRule& rule, int rank);

/// All ranks get all blocks. Slot 0 own block, slot 1 the gathered result. In direct_read each peer's block
/// is consumed in place (one copy to its place in slot 1); in two_sided blocks arrive at their place in slot
/// 1, and their consume says that they are there. All on the compute queue.
struct AllGatherRule {
  int ranks = 1;
  Access access = Access::direct_read;
  std::vector<std::uint64_t> block_bytes{};  ///< [ranks]
};
Result<RankPlan> all_gather_slice(const AllGatherRule& rule, int rank);

/// Zero-byte offers to all, taken from all before the first is released. two_sided: one group; slot 1 is an
/// empty arena slot. All on the compute queue.
struct BarrierRule {
  int ranks = 1;
  Access access = Access::direct_read;
};
Result<RankPlan> barrier_slice(const BarrierRule& rule, int rank);

enum class MergeAlgorithm : std::uint8_t {
  one_shot,  ///< every rank reads all partials and merges all rows itself
  two_shot,  ///< rank r merges rows [floor(r*R/N), floor((r+1)*R/N)); then everybody reads the merged slices
  packed_all_to_all,  ///< two_shot; the executor packs each slice into one piece
  gather_stats,       ///< statistics to all first; then two_shot of the outs alone
  recursive_doubling  ///< everybody exchanges all it has with rank ^ 1, rank ^ 2, rank ^ 4, ...
};
/// softmax_all_reduce (with is_scattered: softmax_reduce_scatter, which ends once its slice is merged) over
/// `rows` rows of `row_bytes` bytes each (statistics included). Slot 0: this rank's partial. Slot 1 (result):
/// the merged rows of this rank's slice (two_shot) or all rows (one_shot). two_sided adds arena slots: slot 2
/// + p holds what arrived from peer p. Computes: merge (offset, bytes = the row range), then copy_result of
/// the own merged rows (one_shot: all rows) and, in two_shot, of every peer's (block = the rank whose slice
/// it is). Every reader has given the partial back before the first copy_result, so that results may be
/// written over it. All on the compute queue.
///
/// gather_stats: slot 0 has the outs only, as have the slices; two slots follow all others: the gathered
/// statistics of all ranks (result) and this rank's own. Their consumes come first, as in AllGatherRule.
/// recursive_doubling: slot 2 is a copy of slot 0 (its consume), slot 3 what arrives, slot 4 the two merged,
/// slot 5 what arrives next, and so on. Where N is no power of two, the ranks from the largest one below N on
/// give what they have to rank - that power first and get the result from it last. Blocks are then named
/// after the lowest rank that is in them, so every copy_result is of block 0.
struct SoftmaxRule {
  int ranks = 1;
  Access access = Access::direct_read;
  MergeAlgorithm algorithm = MergeAlgorithm::two_shot;
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;
  std::uint64_t statistic_bytes = 0;    ///< of row_bytes; gather_stats only
  std::vector<std::uint64_t> counts{};  ///< [ranks] rows that rank r merges; empty: as two_shot says
  bool is_scattered = false;            ///< not with one_shot and recursive_doubling
  /// Merged rows are read where they lie: the results of all peers are taken, then come all copy_results, and
  /// only then the releases and reclaims of results. With one_shot, two_shot and packed_all_to_all; not
  /// scattered.
  bool leaves_results = false;
};
Result<RankPlan> softmax_slice(const SoftmaxRule& rule, int rank);

/// First row of rank r's slice: floor(r * rows / ranks), without overflow.
std::uint64_t slice_first(std::uint64_t rows, int ranks, int rank);

enum class ReduceForm : std::uint8_t {
  one_shot,  ///< all_reduce: every rank reads all inputs and reduces everything itself
  two_shot,  ///< all_reduce: rank r reduces its slice; then everybody reads the reduced slices
  scatter,   ///< reduce_scatter: rank r reduces its slice and keeps it
};
/// Elementwise reduction over ranks, with the slots, computes and order of softmax_all_reduce (merge and
/// copy_result, here of elements). two_sided with two_shot adds, behind the inboxes, a result slot that holds
/// everything: reduced slices of peers arrive there in their places.
struct ReduceRule {
  int ranks = 1;
  Access access = Access::direct_read;
  ReduceForm form = ReduceForm::two_shot;
  std::vector<std::uint64_t> slice_bytes{};  ///< [ranks] what rank r reduces; one after the other, the input
};
Result<RankPlan> reduce_slice(const ReduceRule& rule, int rank);

/// Everybody gets the root's block. Slot 0: own block (empty but on the root), slot 1 the result. The root
/// consumes its own block too (a copy, unless it is already in its place). All on the compute queue.
struct BroadcastRule {
  int ranks = 1;
  Access access = Access::direct_read;
  int root = 0;
  std::uint64_t bytes = 0;
};
Result<RankPlan> broadcast_slice(const BroadcastRule& rule, int rank);

/// One rank's part of an all-to-all: nobody needs the sizes between two others. Slot 0: own block, the parts
/// in order of receiver; slot 1 the result, the parts in order of sender. As in AllGatherRule, but the own
/// part's consume has no target: it reads [offset, offset + bytes) of slot 0, and the consumer knows the
/// place.
struct AllToAllRule {
  int ranks = 1;
  Access access = Access::direct_read;
  std::vector<std::uint64_t> send_bytes{};     ///< [ranks] from this rank
  std::vector<std::uint64_t> receive_bytes{};  ///< [ranks] to this rank
};
Result<RankPlan> all_to_all_slice(const AllToAllRule& rule, int rank);

/// One rank's sends and receives of one call, all in one group. Always by messages, which every transport
/// has: so any number of them, in any order, needs no place in a lane. Slot i belongs to message i (own block
/// of a send, result of a receive). The k-th send to the own rank is copied to the k-th receive from it.
struct PointToPointRule {
  struct Message {
    bool is_send = true;
    int peer = 0;
    std::uint64_t bytes = 0;
  };
  int ranks = 1;
  std::vector<Message> messages{};
};
Result<RankPlan> point_to_point_slice(const PointToPointRule& rule, int rank);

}  // namespace ringcomm::inline v0::plan
#pragma GCC visibility pop
