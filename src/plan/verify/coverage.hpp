// SPDX-License-Identifier: Apache-2.0
// Every block and every visible chunk pair once: what a plan is for.
#pragma once

#include <span>

#include "ringcomm/core/status.hpp"
#include "ringcomm/plan/verify.hpp"

namespace ringcomm::inline v0::plan {

/// See Coverage. invalid_argument names the rank and block, or the chunk pair, with both counts.
Status check_coverage(std::span<const RankPlan> slices, const Coverage& coverage);

}  // namespace ringcomm::inline v0::plan
