// SPDX-License-Identifier: Apache-2.0
// A second opinion on plans, from what operations do and not from a graph: the oracle of the verifier.
#pragma once

#include <string>
#include <vector>

#include "ringcomm/plan/plan.hpp"
#include "ringcomm/plan/verify.hpp"

namespace ringcomm::plan::testing {

struct Judgement {
  std::string fault;  ///< class of the first fault found: "bounds", "match", "deadlock", ...; empty: harmless
  std::string detail;
  bool is_harmful() const { return !fault.empty(); }
};

/// Runs the plan on a toy machine whose memory holds, for each byte, which byte of which block it is. Then
/// runs it once more for every unit with that unit delayed for ever: whatever still begins does not wait for
/// it. Two units that touch the same bytes, one of them writing, and of which neither waits for the other,
/// are a race. Since no operation chooses (each waits for fixed partners), these runs stand for all
/// interleavings.
Judgement judge(const std::vector<RankPlan>& slices, const Coverage& coverage);

}  // namespace ringcomm::plan::testing
