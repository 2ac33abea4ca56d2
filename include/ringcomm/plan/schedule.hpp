// SPDX-License-Identifier: Apache-2.0
// Proves that the calls which the ranks of a job make on several groups end, before any of them runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/core/result.hpp"
#include "ringcomm/plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0::plan {

enum class CallKind : std::uint8_t {
  collective,   ///< ends when every member has begun it
  send,         ///< meets the recv of the same number from this rank to `peer` in its group
  recv,         ///< from `peer`
  create,       ///< makes `group`; a collective of all ranks, or of its members only (made_by_members)
  sync,         ///< the host waits for all work issued so far (stream `awaited`; "": every stream)
  stream_wait,  ///< work issued later on `stream` waits for what `awaited` was given so far (an event)
};
std::string_view name_of(CallKind kind);

/// A communicator, process group or channel.
struct ScheduledGroup {
  std::string name{};
  std::vector<int> members{};
  /// Sends from one rank to another that may end before their receives have begun; 0: every send waits.
  int slots = 0;
  bool is_made_by_members = false;  ///< as open_channel(); otherwise by all ranks, as new_group()
};

struct ScheduledCall {
  CallKind kind = CallKind::collective;
  std::int32_t group = kNone;
  std::int32_t peer = kNone;   ///< rank of the job
  std::int32_t batch = kNone;  ///< neighbours with one number are posted together and end together
  std::optional<std::uint64_t> bytes{};
  std::string op{};  ///< "all_reduce"; compared as words, like dtype, reduce_op and root
  std::string dtype{}, reduce_op{}, root{};
  std::string stream{};        ///< "": the host waits until the call ends
  std::string awaited{};       ///< of sync and stream_wait
  std::string at{};            ///< call site
  std::vector<int> members{};  ///< create: what this rank passes; empty: the group's
};

/// Who calls what, in which order.
struct CallSchedule {
  std::vector<ScheduledGroup> groups{};
  std::vector<std::vector<ScheduledCall>> calls{};  ///< [rank]
};

inline constexpr std::size_t kScheduleRanksMax = 65536;
inline constexpr std::size_t kScheduleCallsMax = std::size_t{1} << 19;    ///< all ranks together
inline constexpr std::size_t kScheduleMembersMax = std::size_t{1} << 20;  ///< all groups together

enum class ScheduleFault : std::uint8_t {
  none,
  mismatch,      ///< calls that meet differ: operation, bytes, type, reduce operation, root, members
  missing_call,  ///< somebody waits for a call that is never made
  deadlock,      ///< a circle of waits
};
std::string_view name_of(ScheduleFault fault);

/// One line of the proof: `rank` waits in its call `call` for `waits_for`, or (mismatch) makes that call.
struct ScheduleLine {
  int rank = 0;
  std::size_t call = 0;  ///< index in CallSchedule::calls[rank]
  int waits_for = kNone;
  std::string text{};  ///< "rank 2 waits in cp[1] #1 (all_gather, 4096 bytes) for rank 3"
};
struct ScheduleReport {
  ScheduleFault fault = ScheduleFault::none;
  std::string sentence{};  ///< "deadlock: 2 ranks wait for each other"
  std::vector<ScheduleLine> lines{};
  std::string fix{};
  std::size_t calls = 0;     ///< of all ranks
  std::size_t meetings = 0;  ///< collectives and messages among them
};

/// Every member must be in a collective before any leaves it (AND), as a rooted or small one may do. Queues:
/// the host in the order of its calls, each stream in the order it was given work. `is_one_stream` checks as
/// if all streams of a rank were one, as on a device that starts one kernel at a time. The first mismatch is
/// that of a run in which every rank goes as far as it can. invalid_argument: limits, a rank, group or peer
/// that does not exist. Cost: linear in calls and members.
Result<ScheduleReport> check_schedule(const CallSchedule& schedule, bool is_one_stream = false);

}  // namespace ringcomm::inline v0::plan
#pragma GCC visibility pop
