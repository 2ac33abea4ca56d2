// SPDX-License-Identifier: Apache-2.0
// What a softmax merge over ranks is about, once its arguments have been checked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collectives/channel_state.hpp"
#include "collectives/softmax_merge.hpp"
#include "ringcomm/collectives/softmax_stats.hpp"
#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::collectives {

struct SoftmaxCall {
  OpCode op = OpCode::softmax_all_reduce;
  SoftmaxPartial partial;
  SoftmaxPartial result;
  plan::SoftmaxRule rule;
  std::int64_t heads = 1;                   ///< rows of a token
  std::vector<std::int64_t> head_counts{};  ///< [ranks] heads that each keeps; empty: ranges of rows
  bool is_offerable = false;                ///< the partial is a block that peers can read where it lies
  bool is_in_place = false;
  MergeStores stores = MergeStores::cached;
};

/// Ranks, access, rows and row bytes of the rule; whether the partial is offerable; `what` opens messages.
Status set_rule(const Channel& channel, SoftmaxCall& call, std::string_view what);

/// Up to this size one round is cheaper than two: as measured for as many ranks, else where results are read
/// in place as communication spec 7.2; where each of two ranks copies them, merging all rows is never slower
/// than a second round and a copy, and of up to four ranks not for less than 40 KiB (docs/performance.md).
/// The same on all ranks: of rank 0's limits and what all give alike.
std::uint64_t one_shot_limit(const Channel& channel, const plan::SoftmaxRule& rule);

/// What `wanted` says; automatic: around the caches when partials and results of all ranks do not fit into
/// what rank 0's limits say.
MergeStores stores_for(const Channel& channel, const plan::SoftmaxRule& rule,
                       MergeStores wanted = MergeStores::automatic);

/// Runs the lowered program of `call`, made first if it is not there.
Result<Work> run_call(Channel& channel, const SoftmaxCall& call, const CallOptions& options);

/// The program of run_call(), from the cache or new.
Result<std::shared_ptr<Runnable>> program_of(Channel& channel, const SoftmaxCall& call);
/// The parts that the last run of a program of leaves_results left.
std::span<const MergedRows::Part> parts_of(const Runnable& runnable);

/// Exchanges of whole partials or slices, and one merge in rank order.
Result<std::shared_ptr<Runnable>> make_softmax_run(Channel& channel, const SoftmaxCall& call,
                                                   const Descriptor& common);
/// Recursive doubling: merges of two, in fp32 until the end.
Result<std::shared_ptr<Runnable>> make_softmax_pairs(Channel& channel, const SoftmaxCall& call,
                                                     const Descriptor& common);

}  // namespace ringcomm::inline v0::collectives
