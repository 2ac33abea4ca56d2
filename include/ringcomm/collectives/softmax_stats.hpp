// SPDX-License-Identifier: Apache-2.0
// Softmax statistics of attention rows and the one rule for merging them (attention spec 6.2).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/tensor_view.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Base of exp and log in the statistics; part of the type because mixing them is silent and wrong.
enum class LogBase : std::uint8_t { e, two };

/// normalised: out = softmax-weighted mean, lse = log-sum-exp. unnormalised: out~ = sum of exp(x - m) v, with
/// m and l.
enum class PartialForm : std::uint8_t { normalised, unnormalised };

/// One rank's partial results. Rows are (token, head) pairs in any order that is the same on all ranks.
/// A row that saw no key has lse = -inf (or m = -inf, l = 0); its out is then never read and may hold
/// anything. NaN stays NaN.
struct SoftmaxPartial {
  PartialForm form = PartialForm::normalised;
  LogBase base = LogBase::e;
  TensorView out;        ///< [rows, dim], fp32, bf16 or fp16
  TensorView statistic;  ///< normalised: lse [rows] fp32. unnormalised: (m, l) pairs [rows, 2] fp32

  /// Lays out out and statistic in `window`, contiguous, as softmax_all_reduce reads it without packing.
  /// invalid_argument if the window is smaller than bytes_needed().
  static Result<SoftmaxPartial> in(const Window& window, std::int64_t rows, std::int64_t dim,
                                   DType dtype = DType::float32, PartialForm form = PartialForm::normalised);
  static std::size_t bytes_needed(std::int64_t rows, std::int64_t dim, DType dtype = DType::float32,
                                  PartialForm form = PartialForm::normalised);
  std::int64_t rows() const { return out.shape[0]; }
  std::int64_t dim() const { return out.shape[1]; }
};

/// k-way merge on this rank, no communication: `target` = sources[0] (+) sources[1] (+) ..., in that order;
/// fp32 accumulation, one rounding at the end. All of the same form, base, rows, dim; dtypes may differ.
/// `target` may be one of the sources (equal pointers). Source: attention spec 6.2; Milakov and Gimelshein
/// 2018 (arXiv:1805.02867) for the online form.
Status merge_softmax_partials(const SoftmaxPartial& target, std::span<const SoftmaxPartial> sources);

/// How partials meet (attention spec 6.6). All but recursive_doubling merge each row once, k-way in rank
/// order, from the ranks' own partials: they give the same bits, under either order. gather_stats too: the
/// owner of a row weighs the outs as they come, with the statistics gathered before, so nothing is rounded on
/// the way.
enum class MergeChoice : std::uint8_t {
  automatic,
  one_shot,           ///< every rank reads all partials
  two_shot,           ///< rank r merges its slice of rows, then all read the slices
  packed_all_to_all,  ///< two_shot with (out, statistic) of a slice packed into one piece
  gather_stats,       ///< all-gather of the statistics, then two_shot of the outs alone
  /// log2(N) rounds of whole partials in (m, l, out~) fp32, two more where N is no power of two; only under
  /// MergeOrder::fast. Bits differ from the others' and with N; memory 2 log2(N) partials.
  recursive_doubling,
};

/// canonical: k-way in rank order, the same bits for every algorithm and transport. fast: any association,
/// for latency; ranks still agree bit for bit.
enum class MergeOrder : std::uint8_t { canonical, fast };

/// How merged rows are written: as ever, or past the caches, which is faster for more than fits there. The
/// bits do not depend on it.
enum class MergeStores : std::uint8_t { automatic, cached, around_caches };

struct SoftmaxAllReduceOptions {
  /// automatic: one_shot up to a few KiB, and for two ranks that read each other's memory and copy results
  /// (messages and order fast: recursive_doubling up to 8 KiB from 5 ranks on), then two_shot, with messages
  /// packed_all_to_all. Where they were measured (ringcomm-perf --calibrate), rank 0's limits decide. The
  /// rest is what all ranks give alike, so that all choose alike; the descriptors prove it.
  MergeChoice algorithm = MergeChoice::automatic;
  MergeOrder order = MergeOrder::canonical;
  MergeStores stores = MergeStores::automatic;  ///< automatic: by what fits into the caches; see MergeLimits
  CallOptions call{};
};

/// Merges all members' partials; every rank gets all merged rows, the same bits on every rank and for every
/// algorithm (canonical order: k-way in rank order).
///
/// @param partial  read; in a window it is read in place, elsewhere it is packed once (counted).
/// @param result   written; same rows, dim, form; may equal `partial` (in place).
/// Zero rows are legal. Errors: mismatch for rows, dim, dtype, form or base that differ between ranks.
/// Cost: one_shot reads (N-1)*S; two_shot 2*(N-1)/N*S in two rounds, S = rows * (dim * element + statistics).
/// packed_all_to_all and memory outside windows pack S first. Arena for each shape and memory in use: what is
/// packed, in up to 32 blocks of together at most 2 MiB that take turns, and merged rows that peers read.
Result<Work> softmax_all_reduce(Channel& channel, const SoftmaxPartial& partial, const SoftmaxPartial& result,
                                const SoftmaxAllReduceOptions& options = {});

/// Merged rows where the members that merged them left them: read only, and valid until release(), this
/// object's destruction or this rank's next operation on the channel, whichever comes first.
class MergedRows {
 public:
  struct Part {
    int owner = 0;               ///< member that merged these rows
    std::int64_t first_row = 0;  ///< of its partials
    SoftmaxPartial rows;         ///< contiguous
  };
  MergedRows() = default;
  MergedRows(MergedRows&& other) noexcept = default;
  MergedRows& operator=(MergedRows&& other) noexcept;
  ~MergedRows();

  /// By rows, without gaps: together all rows of the partials. Parts without rows are left out.
  std::span<const Part> parts() const { return parts_; }
  /// Hands the peers' rows back; waits for nobody. The owners wait for it in their next operation on this
  /// channel, so that a rank that goes on without one should release early.
  Status release();

 private:
  friend Result<MergedRows> softmax_all_reduce_in_place(Channel& channel, const SoftmaxPartial& partial,
                                                        const SoftmaxAllReduceOptions& options);
  std::span<const Part> parts_;
  std::weak_ptr<void> channel_;  ///< what collectives keep with it; gone with it
  std::uint64_t loan_ = 0;
};

/// softmax_all_reduce() without a last copy: every member merges its share of the rows (of a few KiB: all)
/// into the communicator's arena, and all read the shares in place. The bits are softmax_all_reduce()'s.
///
/// @param partial  as there.
/// @param options  one_shot, two_shot, packed_all_to_all or automatic; no stream.
/// Errors: as softmax_all_reduce; invalid_argument for a stream or another algorithm.
/// Cost: two_shot reads S and writes S/N on each rank. Arena for each shape in use: S/N (one_shot: S), and
/// where the partial is not in a window or is packed the larger of S and 2 MiB (at most 32 S) more.
Result<MergedRows> softmax_all_reduce_in_place(Channel& channel, const SoftmaxPartial& partial,
                                               const SoftmaxAllReduceOptions& options = {});

/// What a member keeps of the merged rows.
enum class MergeScatter : std::uint8_t {
  rows,   ///< a range of rows
  heads,  ///< a range of heads of every token; rows are then [tokens, heads]
};

struct SoftmaxReduceScatterOptions {
  MergeChoice algorithm = MergeChoice::automatic;  ///< two_shot, packed_all_to_all or gather_stats
  MergeScatter scatter = MergeScatter::rows;
  std::int64_t heads = 1;  ///< heads per token, for MergeScatter::heads; divides rows
  /// [channel.size()] rows (or heads) kept by each member, zero is legal; empty: floor(r*H/N) bounds.
  std::vector<std::int64_t> counts{};
  CallOptions call{};
};

/// As softmax_all_reduce, but each member gets only its share: `result` has counts[own] rows, or tokens *
/// counts[own] rows of [tokens, own heads]. `result` may not overlap `partial`.
/// Errors: as softmax_all_reduce, also for shares that differ between ranks.
/// Cost: (N-1)/N*S in one round; gather_stats two rounds and all statistics. Heads are packed first (S).
Result<Work> softmax_reduce_scatter(Channel& channel, const SoftmaxPartial& partial,
                                    const SoftmaxPartial& result,
                                    const SoftmaxReduceScatterOptions& options = {});

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop
