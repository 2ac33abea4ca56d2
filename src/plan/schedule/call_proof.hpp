// SPDX-License-Identifier: Apache-2.0
// Why a schedule stands still, as lines that name each rank's call.
#pragma once

#include "plan/schedule/call_run.hpp"

namespace ringcomm::inline v0::plan {

/// Fault, sentence, lines and fix of a run that did not end: its mismatch, else a circle of waits, else a
/// call that is never made.
ScheduleReport explain_stop(const CallSchedule& schedule, const CallGraph& graph, const CallRun& run);
/// The first message that lies in a slot for ever, or fault none.
ScheduleReport find_unread(const CallSchedule& schedule, const CallGraph& graph);

}  // namespace ringcomm::inline v0::plan
