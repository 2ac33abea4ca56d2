// SPDX-License-Identifier: Apache-2.0
#include <new>
#include <set>

#include "core/try.hpp"
#include "plan/schedule/call_proof.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::plan {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

Status check_groups(const CallSchedule& schedule) {
  std::size_t members = 0;
  for (const ScheduledGroup& group : schedule.groups) {
    if (group.members.empty())
      return Status::invalid_argument(concat("group ", group.name, " has no members"));
    if (group.slots < 0)
      return Status::invalid_argument(concat("group ", group.name, " has ", group.slots, " slots"));
    std::set<int> known;
    for (const int rank : group.members) {
      if (rank < 0 || at(rank) >= schedule.calls.size())
        return Status::invalid_argument(concat("group ", group.name, " has member ", rank, " of a job of ",
                                               schedule.calls.size(), " ranks"));
      if (!known.insert(rank).second)
        return Status::invalid_argument(concat("group ", group.name, " has member ", rank, " twice"));
    }
    members += group.members.size();
  }
  if (members > kScheduleMembersMax)
    return Status::invalid_argument(
        concat("groups have ", members, " members together; at most ", kScheduleMembersMax));
  return {};
}

class CallCheck {
 public:
  explicit CallCheck(const CallSchedule& schedule) : schedule_(schedule) {
    for (const ScheduledGroup& group : schedule.groups)
      members_.emplace_back(group.members.begin(), group.members.end());
  }
  Status check(CallRef ref) const {
    const ScheduledCall& call = call_at(schedule_, ref);
    const auto wrong = [&](const std::string& why) {
      return Status::invalid_argument(concat("call ", ref.index, " of rank ", ref.rank, " ", why));
    };
    const bool has_group = call.kind != CallKind::sync && call.kind != CallKind::stream_wait;
    if (!has_group) {
      if (call.group != kNone) return wrong(concat("is a ", name_of(call.kind), " and has a group"));
      if (call.batch != kNone) return wrong(concat("is a ", name_of(call.kind), " in a batch"));
      return call.kind == CallKind::stream_wait && call.stream.empty() ? wrong("lets no stream wait")
                                                                       : Status();
    }
    if (call.group < 0 || at(call.group) >= schedule_.groups.size())
      return wrong("has a group that is unknown");
    const ScheduledGroup& group = schedule_.groups[at(call.group)];
    const bool is_open_to_all = call.kind == CallKind::create && !group.is_made_by_members;
    if (!is_open_to_all && !members_[at(call.group)].contains(ref.rank))
      return wrong(
          concat("is in ", group.name, " ", members_text(group.members), ", of which it is no member"));
    const bool is_message = call.kind == CallKind::send || call.kind == CallKind::recv;
    if (is_message && !members_[at(call.group)].contains(call.peer))
      return wrong(
          concat("has peer ", call.peer, ", no member of ", group.name, " ", members_text(group.members)));
    if (ref.index == 0 || call.batch == kNone) return {};
    const ScheduledCall& before = call_at(schedule_, {ref.rank, ref.index - 1});
    if (before.batch == call.batch && before.stream != call.stream)
      return wrong("is on another stream than the rest of its batch");
    return {};
  }

 private:
  const CallSchedule& schedule_;
  std::vector<std::set<int>> members_;
};

Status check_calls(const CallSchedule& schedule) {
  if (schedule.calls.size() > kScheduleRanksMax)
    return Status::invalid_argument(
        concat("a schedule of ", schedule.calls.size(), " ranks; at most ", kScheduleRanksMax));
  std::size_t count = 0;
  for (const auto& calls : schedule.calls) count += calls.size();
  if (count > kScheduleCallsMax)
    return Status::invalid_argument(concat("a schedule of ", count, " calls; at most ", kScheduleCallsMax));
  RINGCOMM_TRY(check_groups(schedule));
  const CallCheck check(schedule);
  for (std::int32_t rank = 0; at(rank) < schedule.calls.size(); ++rank) {
    for (std::int32_t i = 0; at(i) < schedule.calls[at(rank)].size(); ++i)
      RINGCOMM_TRY(check.check({rank, i}));
  }
  return {};
}

/// A group that somebody makes is used by nobody before.
ScheduleReport find_early_use(const CallSchedule& schedule) {
  std::set<std::int32_t> made_by_somebody;
  for (const auto& calls : schedule.calls) {
    for (const ScheduledCall& call : calls) {
      if (call.kind == CallKind::create) made_by_somebody.insert(call.group);
    }
  }
  for (std::int32_t rank = 0; at(rank) < schedule.calls.size(); ++rank) {
    std::set<std::int32_t> made;
    for (std::int32_t i = 0; at(i) < schedule.calls[at(rank)].size(); ++i) {
      const ScheduledCall& call = call_at(schedule, {rank, i});
      if (call.kind == CallKind::create) made.insert(call.group);
      if (!made_by_somebody.contains(call.group) || made.contains(call.group)) continue;
      ScheduleReport report{.fault = ScheduleFault::mismatch};
      report.sentence = concat("mismatch: rank ", rank, " uses ", schedule.groups[at(call.group)].name,
                               " before it has made it");
      report.lines.push_back({.rank = rank,
                              .call = at(i),
                              .waits_for = kNone,
                              .text = concat("rank ", rank, " calls ", describe(schedule, {rank, i}))});
      report.fix = "make the group first, on all ranks in one order";
      return report;
    }
  }
  return {};
}

ScheduleReport run_checks(const CallSchedule& schedule, bool is_one_stream) {
  if (ScheduleReport early = find_early_use(schedule); early.fault != ScheduleFault::none) return early;
  const CallGraph graph(schedule, is_one_stream);
  const CallRun run = run_calls(schedule, graph);
  ScheduleReport report = run.is_complete ? find_unread(schedule, graph) : explain_stop(schedule, graph, run);
  report.meetings = graph.meetings().size();
  for (const CallLane& lane : graph.lanes())
    report.meetings += std::min(lane.sends.size(), lane.recvs.size());
  return report;
}

}  // namespace

Result<ScheduleReport> check_schedule(const CallSchedule& schedule, bool is_one_stream) {
  try {
    RINGCOMM_TRY(check_calls(schedule));
    ScheduleReport report = run_checks(schedule, is_one_stream);
    for (const auto& calls : schedule.calls) report.calls += calls.size();
    if (report.fault == ScheduleFault::none)
      report.sentence = concat("free of deadlock: ", report.calls, " calls of ", schedule.calls.size(),
                               " ranks meet in ", report.meetings, " places");
    return report;
  } catch (const std::bad_alloc&) {
    return Status::out_of_memory(concat("checking a schedule of ", schedule.calls.size(), " ranks"));
  }
}

}  // namespace ringcomm::inline v0::plan
