// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule/call_proof.hpp"

#include <algorithm>
#include <set>

#include "plan/schedule/call_cycle.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::plan {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

ScheduleLine line_of(CallRef ref, int waits_for, std::string text) {
  return {.rank = ref.rank, .call = at(ref.index), .waits_for = waits_for, .text = std::move(text)};
}

ScheduleReport mismatch_of(const CallSchedule& schedule, std::pair<CallRef, CallRef> calls) {
  const auto [a, b] = calls;
  ScheduleReport report{.fault = ScheduleFault::mismatch};
  report.sentence = concat("mismatch: ranks ", a.rank, " and ", b.rank,
                           " make different calls where they meet (", difference(schedule, a, b), ")");
  for (const CallRef ref : {a, b})
    report.lines.push_back(
        line_of(ref, kNone, concat("rank ", ref.rank, " calls ", describe(schedule, ref))));
  report.fix = call_at(schedule, a).kind == CallKind::create
                   ? "make all groups on all ranks in one order and with the same members"
                   : "make the same call on every member of the group, with the same sizes and types";
  return report;
}

/// Where a circle leaves one rank for another.
struct Crossing {
  CallRef waits, met;  ///< the call that waits, and the call of the other rank that it waits for
};

CallRef call_of(const CallGraph& graph, std::int32_t unit, std::int32_t meeting, std::int32_t lane_rank) {
  const CallUnit& calls = graph.unit(unit);
  for (std::int32_t i = 0; i < calls.count; ++i) {
    const CallRef ref{calls.rank, calls.first + i};
    const MeetingPlace& place = graph.place(ref);
    if (meeting != kNone && place.meeting == meeting) return ref;
    if (meeting == kNone && place.lane != kNone) {
      const CallLane& lane = graph.lanes()[at(place.lane)];
      if (lane.from == lane_rank || lane.to == lane_rank) return ref;
    }
  }
  return {calls.rank, calls.first};
}

std::vector<Crossing> crossings_of(const CallGraph& graph, const std::vector<std::int32_t>& cycle) {
  std::vector<Crossing> crossings;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const std::int32_t unit = graph.unit_of(cycle[i]);
    const std::int32_t next = cycle[(i + 1) % cycle.size()];
    if (unit == kNone) continue;
    if (graph.is_meeting(next)) {
      const std::int32_t other = graph.unit_of(cycle[(i + 2) % cycle.size()]);
      const std::int32_t meeting = graph.meeting_of(next);
      crossings.push_back({call_of(graph, unit, meeting, kNone), call_of(graph, other, meeting, kNone)});
    } else if (const std::int32_t other = graph.unit_of(next);
               graph.unit(other).rank != graph.unit(unit).rank) {
      crossings.push_back({call_of(graph, unit, kNone, graph.unit(other).rank),
                           call_of(graph, other, kNone, graph.unit(unit).rank)});
    }
  }
  return crossings;
}

ScheduleReport deadlock_of(const CallSchedule& schedule, const CallGraph& graph,
                           const std::vector<std::int32_t>& cycle) {
  ScheduleReport report{.fault = ScheduleFault::deadlock};
  std::vector<Crossing> crossings = crossings_of(graph, cycle);
  if (crossings.empty()) {  // a rank that waits for itself
    const CallUnit& unit = graph.unit(graph.unit_of(*std::find_if(
        cycle.begin(), cycle.end(), [&](std::int32_t node) { return !graph.is_meeting(node); })));
    crossings.push_back({{unit.rank, unit.first}, {unit.rank, unit.first}});
  }
  const auto lowest = std::min_element(crossings.begin(), crossings.end(), [](const auto& a, const auto& b) {
    return std::pair(a.waits.rank, a.waits.index) < std::pair(b.waits.rank, b.waits.index);
  });
  std::rotate(crossings.begin(), lowest, crossings.end());
  bool has_collective = false;
  std::set<std::int32_t> groups;
  for (std::size_t i = 0; i < crossings.size(); ++i) {
    const Crossing& here = crossings[i];
    const CallRef reached = crossings[(i + crossings.size() - 1) % crossings.size()].met;
    const ScheduledCall& call = call_at(schedule, here.waits);
    std::string text = concat("rank ", here.waits.rank, " waits in ", describe(schedule, here.waits),
                              " for rank ", here.met.rank);
    if (reached != here.waits && reached.rank == here.waits.rank)
      text += concat(", before its ", describe(schedule, reached));
    report.lines.push_back(line_of(here.waits, here.met.rank, std::move(text)));
    groups.insert(call.group);
    has_collective = has_collective || (call.kind != CallKind::send && call.kind != CallKind::recv);
  }
  report.sentence =
      crossings.size() == 1
          ? concat("deadlock: rank ", crossings[0].waits.rank, " waits for itself")
          : concat("deadlock: ", crossings.size(), " calls wait in a circle, each for the next");
  if (!has_collective)
    report.fix = "post sends and receives together (one batch), or let every other rank receive first";
  else if (groups.size() > 1)
    report.fix =
        "call these groups in one order on all ranks; with streams, remove the host synchronisation or "
        "the wait that ties them together";
  else
    report.fix = "make these calls in one order on all ranks";
  return report;
}

std::vector<int> absent_from(const CallSchedule& schedule, const Meeting& meeting) {
  std::vector<int> members;
  if (meeting.group == kNone) {
    for (std::size_t rank = 0; rank < schedule.calls.size(); ++rank)
      members.push_back(static_cast<int>(rank));
  } else {
    members = schedule.groups[at(meeting.group)].members;
  }
  std::set<int> here;
  for (const CallRef ref : meeting.arrivals) here.insert(ref.rank);
  std::erase_if(members, [&](int rank) { return here.contains(rank); });
  return members;
}

ScheduleReport missing_at(const CallSchedule& schedule, const Meeting& meeting) {
  ScheduleReport report{.fault = ScheduleFault::missing_call};
  const CallRef first = meeting.arrivals.front();
  const std::vector<int> absent = absent_from(schedule, meeting);
  const int number = number_of(schedule, first);
  const bool is_creation = call_at(schedule, first).kind == CallKind::create;
  report.sentence = concat("missing call: ", ranks_text(absent),
                           absent.size() == 1 ? " never makes " : " never make ", describe(schedule, first));
  for (const CallRef ref : meeting.arrivals) {
    if (report.lines.size() == 4) break;
    report.lines.push_back(line_of(
        ref, absent.front(),
        concat("rank ", ref.rank, " waits in ", describe(schedule, ref), " for ", ranks_text(absent))));
  }
  report.lines.push_back({.rank = absent.front(),
                          .call = schedule.calls[at(absent.front())].size(),
                          .waits_for = kNone,
                          .text = is_creation ? concat("rank ", absent.front(), " ends without it")
                                              : concat("rank ", absent.front(), " ends after ", number - 1,
                                                       " calls in this group")});
  report.fix = is_creation ? "make every group on every rank that the creation waits for, members or not"
                           : "make the same number of calls on every member of the group";
  return report;
}

ScheduleReport missing_message(const CallSchedule& schedule, const CallLane& lane, CallRef ref,
                               bool is_waiting) {
  ScheduleReport report{.fault = ScheduleFault::missing_call};
  const bool is_send = call_at(schedule, ref).kind == CallKind::send;
  const int peer = is_send ? lane.to : lane.from;
  report.sentence = concat("missing call: rank ", peer, " never ", is_send ? "receives" : "sends",
                           " what rank ", ref.rank, is_send ? " sends" : " receives");
  report.lines.push_back(
      line_of(ref, is_waiting ? peer : kNone,
              concat("rank ", ref.rank, is_waiting ? " waits in " : " calls ", describe(schedule, ref),
                     is_waiting ? concat(" for rank ", peer) : "")));
  report.lines.push_back(
      {.rank = peer,
       .call = schedule.calls[at(peer)].size(),
       .waits_for = kNone,
       .text = concat("rank ", peer, " ends after ", is_send ? lane.recvs.size() : lane.sends.size(),
                      is_send ? " recvs from rank " : " sends to rank ", ref.rank, " in this group")});
  report.fix = "give each send its recv: check the peer formula and the number of steps on both ranks";
  return report;
}

/// Of a unit's end that lacks a partner.
ScheduleReport missing_partner(const CallSchedule& schedule, const CallGraph& graph, const CallUnit& unit) {
  for (std::int32_t i = 0; i < unit.count; ++i) {
    const CallRef ref{unit.rank, unit.first + i};
    const MeetingPlace& place = graph.place(ref);
    if (place.lane == kNone) continue;
    const CallLane& lane = graph.lanes()[at(place.lane)];
    const bool is_send = call_at(schedule, ref).kind == CallKind::send;
    if (at(place.number) >= (is_send ? lane.recvs : lane.sends).size())
      return missing_message(schedule, lane, ref, true);
  }
  return {};
}

}  // namespace

ScheduleReport explain_stop(const CallSchedule& schedule, const CallGraph& graph, const CallRun& run) {
  if (run.mismatch) return mismatch_of(schedule, *run.mismatch);
  if (const auto cycle = find_wait_cycle(graph, run); !cycle.empty())
    return deadlock_of(schedule, graph, cycle);
  // Without a circle, some call has all it waits for but the one that is never made.
  const auto is_stuck = [&](std::int32_t node) { return run.is_done[at(node)] == 0; };
  for (std::size_t index = 0; index < graph.node_count(); ++index) {
    const auto node = static_cast<std::int32_t>(index);
    if (!graph.lacks(node) || !is_stuck(node) || std::ranges::any_of(graph.predecessors(node), is_stuck))
      continue;
    return graph.is_meeting(node) ? missing_at(schedule, graph.meetings()[at(graph.meeting_of(node))])
                                  : missing_partner(schedule, graph, graph.unit(graph.unit_of(node)));
  }
  return {};
}

ScheduleReport find_unread(const CallSchedule& schedule, const CallGraph& graph) {
  for (const CallLane& lane : graph.lanes()) {
    if (lane.sends.size() > lane.recvs.size())
      return missing_message(schedule, lane, lane.sends[lane.recvs.size()], false);
  }
  return {};
}

}  // namespace ringcomm::inline v0::plan
