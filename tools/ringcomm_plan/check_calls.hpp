// SPDX-License-Identifier: Apache-2.0
// `ringcomm-plan check --schedule FILE`: reads the calls of all ranks and has them proved.
#pragma once

#include <string>

#include "options.hpp"
#include "ringcomm/plan/schedule.hpp"

namespace ringcomm::planner {

/// The file, or standard input for "-".
Result<plan::ScheduleReport> check_calls(const ScheduleOptions& options);
std::string to_text(const plan::ScheduleReport& report);
std::string to_json(const plan::ScheduleReport& report);

}  // namespace ringcomm::planner
