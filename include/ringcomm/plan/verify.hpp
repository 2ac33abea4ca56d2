// SPDX-License-Identifier: Apache-2.0
// Proves a plan before a byte moves: matching, no deadlock, no slot rewritten before its last reader,
// coverage.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ringcomm/core/result.hpp"
#include "ringcomm/plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0::plan {

/// What must be computed exactly once over all ranks and steps.
struct Coverage {
  /// Blocks: consumed[r * ranks + s] = 1 if rank r must consume the block of s exactly once, 0 if never.
  /// Empty: not checked. Looks at computes with ComputeCode::consume.
  std::vector<std::uint8_t> consumed{};
  /// Blocks of which each rank consumes a part: bytes [origins[r * ranks + s], + sizes[r * ranks + s]) of the
  /// block of s. Empty: whole blocks.
  std::vector<std::uint64_t> origins{};
  std::vector<std::uint64_t> sizes{};
  /// Attention: visible[q * chunks + k] = 1 if chunk pair (q, k) holds a visible (query, key) pair.
  int chunks = 0;
  std::vector<std::uint8_t> visible{};
};

/// Numbers that a plan's reader wants beside the verdict.
struct PlanFacts {
  std::uint64_t bytes_moved = 0;      ///< pulled or received, all ranks
  std::uint64_t arena_bytes_max = 0;  ///< of one rank
  std::uint64_t tiles = 0;            ///< all ranks
  double tiles_max_over_mean = 1.0;   ///< load balance over ranks
  std::uint64_t operations = 0;
};

/// ok with facts, or a Status naming rank, operation index, step, peer and slot:
/// mismatch (a send without its receive, other bytes, other block or order), invalid_argument (a cycle: the
/// ranks and operations on it are listed; a slot rewritten before its last reader; a wrong block in a slot;
/// an acknowledgement missing or left over; coverage; an index out of range). Cost: linear in operations
/// plus, for the slot proof, readers times reachability; meant for plans of up to 64 ranks.
Result<PlanFacts> verify(std::span<const RankPlan> slices, const Coverage& coverage);

/// The part of verify() that is linear in operations: indices, every send with its receive, and no circle of
/// waits. Says nothing of slots and coverage.
Status verify_order(std::span<const RankPlan> slices);

}  // namespace ringcomm::inline v0::plan
#pragma GCC visibility pop
