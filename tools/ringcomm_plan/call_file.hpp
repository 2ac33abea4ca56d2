// SPDX-License-Identifier: Apache-2.0
// Reads what `ringcomm-plan check --schedule` proves: groups, and the calls of each rank, as JSON
// (docs/plan.md).
#pragma once

#include <string>
#include <string_view>

#include "ringcomm/plan/schedule.hpp"

namespace ringcomm::planner {

/// At most 16 MiB, and the limits of plan/schedule.hpp after repeats are unrolled. corrupt_data names the
/// place ("programs[0].calls[3]") and what is wrong there.
Result<plan::CallSchedule> read_call_file(std::string_view text, const std::string& file);

}  // namespace ringcomm::planner
