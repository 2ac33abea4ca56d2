// SPDX-License-Identifier: Apache-2.0
// The softmax merge by recursive doubling: SoftmaxRule says which slots it has.
#pragma once

#include <cstdint>

#include "ringcomm/plan/rules.hpp"

namespace ringcomm::inline v0::plan {

/// `rule` has been checked. Rounds: log2 of the largest power of two up to N, and two more when N is none.
RankPlan doubling_slice(const SoftmaxRule& rule, int rank, std::uint64_t signature);

}  // namespace ringcomm::inline v0::plan
