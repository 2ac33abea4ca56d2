// SPDX-License-Identifier: Apache-2.0
// Verifies a rule's plan when it is made, for groups of moderate size: wholly in debug builds; in release
// builds that every send has its receive and nobody waits in a circle.
#pragma once

#include <vector>

#include "collectives/channel_state.hpp"
#include "collectives/executor.hpp"
#include "core/try.hpp"
#include "ringcomm/plan/verify.hpp"

namespace ringcomm::inline v0::collectives {

#ifdef NDEBUG
inline constexpr bool kVerifiesPlans = false;
#else
inline constexpr bool kVerifiesPlans = true;
#endif

/// Derives the slices of all ranks with `slice_of(rank)` and verifies them together. Plans are cached, so a
/// caller pays once.
template <class SliceOf>
Status check_plan(int ranks, SliceOf&& slice_of, const plan::Coverage& coverage = {}) {
  if (ranks > kVerifiedRanksMax) return {};
  std::vector<plan::RankPlan> slices;
  for (int rank = 0; rank < ranks; ++rank) {
    RINGCOMM_TRY_ASSIGN(auto slice, slice_of(rank));
    slices.push_back(std::move(slice));
  }
  return kVerifiesPlans ? plan::verify(slices, coverage).status() : plan::verify_order(slices);
}

/// Every rank consumes every block once.
inline plan::Coverage all_blocks(int ranks) {
  plan::Coverage coverage;
  coverage.consumed.assign(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks), 1);
  return coverage;
}

/// What a failed preparation means: a wrong argument is the caller's and harms nobody; anything else (memory)
/// leaves the peers alone in the operation, so they are told.
inline Status prepared_or_failed(Channel& channel, Status status) {
  const bool is_harmless = status.is_ok() || status.code() == StatusCode::invalid_argument ||
                           status.code() == StatusCode::not_available;
  return is_harmless ? status : channel.fail(std::move(status));
}

/// Runs the program of `key` and `list`, which `make` makes when it is not in the cache.
template <class Make>
Result<Work> launch_cached(Channel& channel, ProgramCache& programs, const ProgramKey& key,
                           std::span<const std::int64_t> list, const CallOptions& options, Make&& make) {
  auto runnable = programs.find(key, list);
  if (!runnable) {
    auto made = make();
    RINGCOMM_TRY(prepared_or_failed(channel, made.status()));
    runnable = std::move(made).value();
    channel.keep_plan(runnable->common.signature, runnable->program.slice);
    programs.insert(key, list, runnable);
  }
  return launch(channel, runnable, options);
}

}  // namespace ringcomm::inline v0::collectives
