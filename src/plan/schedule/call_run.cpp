// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule/call_run.hpp"

namespace ringcomm::inline v0::plan {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// Remembers who came first to each meeting, and finds who differs from the one before.
class Meetings {
 public:
  Meetings(const CallSchedule& schedule, const CallGraph& graph)
      : schedule_(schedule), graph_(graph), first_(graph.meetings().size()) {}

  std::optional<std::pair<CallRef, CallRef>> arrive(CallRef ref, const std::vector<std::uint8_t>& is_done) {
    const MeetingPlace& place = graph_.place(ref);
    CallRef other;
    if (place.meeting != kNone) {
      CallRef& first = first_[at(place.meeting)];
      other = first;
      if (first.rank == kNone) first = ref;
    } else if (place.lane != kNone) {
      const CallLane& lane = graph_.lanes()[at(place.lane)];
      const auto& side = call_at(schedule_, ref).kind == CallKind::send ? lane.recvs : lane.sends;
      if (at(place.number) < side.size() && is_done[at(graph_.start_of(side[at(place.number)]))] != 0)
        other = side[at(place.number)];
    }
    if (other.rank == kNone || difference(schedule_, other, ref).empty()) return std::nullopt;
    return std::pair(other, ref);
  }

 private:
  const CallSchedule& schedule_;
  const CallGraph& graph_;
  std::vector<CallRef> first_;
};

}  // namespace

CallRun run_calls(const CallSchedule& schedule, const CallGraph& graph) {
  const std::size_t nodes = graph.node_count();
  CallRun run;
  run.is_done.assign(nodes, 0);
  std::vector<std::size_t> missing(nodes);
  std::vector<std::int32_t> ready;
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto id = static_cast<std::int32_t>(node);
    missing[node] = graph.predecessors(id).size() + (graph.lacks(id) ? 1 : 0);
    if (missing[node] == 0) ready.push_back(id);
  }
  Meetings meetings(schedule, graph);
  for (std::size_t next = 0; next < ready.size(); ++next) {
    const std::int32_t node = ready[next];
    run.is_done[at(node)] = 1;
    if (graph.is_start(node)) {
      const CallUnit& unit = graph.unit(graph.unit_of(node));
      for (std::int32_t i = 0; i < unit.count; ++i) {
        run.mismatch = meetings.arrive({unit.rank, unit.first + i}, run.is_done);
        if (run.mismatch) return run;
      }
    }
    for (const std::int32_t to : graph.successors(node)) {
      if (--missing[at(to)] == 0) ready.push_back(to);
    }
  }
  run.is_complete = ready.size() == nodes;
  return run;
}

}  // namespace ringcomm::inline v0::plan
