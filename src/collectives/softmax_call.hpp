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
};

/// Ranks, access, rows and row bytes of the rule; whether the partial is offerable; `what` opens messages.
Status set_rule(const Channel& channel, SoftmaxCall& call, std::string_view what);

/// Up to this size one round is cheaper than two; measured on shared memory (communication spec 7.2).
inline std::uint64_t one_shot_limit(int ranks) { return ranks <= 2 ? 8192 : 4096; }

/// Runs the lowered program of `call`, made first if it is not there.
Result<Work> run_call(Channel& channel, const SoftmaxCall& call, const CallOptions& options);

/// Exchanges of whole partials or slices, and one merge in rank order.
Result<std::shared_ptr<Runnable>> make_softmax_run(Channel& channel, const SoftmaxCall& call,
                                                   const Descriptor& common);
/// Recursive doubling: merges of two, in fp32 until the end.
Result<std::shared_ptr<Runnable>> make_softmax_pairs(Channel& channel, const SoftmaxCall& call,
                                                     const Descriptor& common);

}  // namespace ringcomm::inline v0::collectives
