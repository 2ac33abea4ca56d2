// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule/call_graph.hpp"

#include <map>
#include <string_view>
#include <tuple>

namespace ringcomm::inline v0::plan {
namespace {

constexpr std::int32_t issue_of(std::int32_t unit) { return 3 * unit; }
constexpr std::int32_t start_of_unit(std::int32_t unit) { return 3 * unit + 1; }
constexpr std::int32_t end_of(std::int32_t unit) { return 3 * unit + 2; }

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// Meetings found so far; those of one kind and group are numbered in the order in which a rank calls them.
class MeetingNumbers {
 public:
  explicit MeetingNumbers(const CallSchedule& schedule)
      : schedule_(schedule), calls_(schedule.groups.size()), creations_(schedule.groups.size()) {}
  void next_rank() { counts_.clear(); }
  std::int32_t number(const ScheduledCall& call, std::vector<Meeting>& meetings, std::int32_t& which) {
    const bool is_creation = call.kind == CallKind::create;
    const bool is_for_all = is_creation && !schedule_.groups[at(call.group)].is_made_by_members;
    const std::int32_t group = is_for_all ? kNone : call.group;
    std::vector<std::int32_t>& known = is_for_all    ? for_all_
                                       : is_creation ? creations_[at(group)]
                                                     : calls_[at(group)];
    which = counts_[{is_creation, group}]++;
    if (at(which) == known.size()) {
      known.push_back(static_cast<std::int32_t>(meetings.size()));
      meetings.push_back({.group = group, .arrivals = {}});
    }
    return known[at(which)];
  }

 private:
  const CallSchedule& schedule_;
  std::vector<std::vector<std::int32_t>> calls_, creations_;
  std::vector<std::int32_t> for_all_;
  std::map<std::pair<bool, std::int32_t>, std::int32_t> counts_;  ///< of the rank
};

}  // namespace

CallGraph::CallGraph(const CallSchedule& schedule, bool is_one_stream) : schedule_(schedule) {
  add_units();
  add_places();
  lacks_.assign(3 * units_.size() + meetings_.size(), 0);
  add_order_within(is_one_stream);
  add_meetings();
  add_messages();
  sort_edges();
}

std::span<const std::int32_t> CallGraph::row(const std::vector<std::size_t>& begin,
                                             const std::vector<std::int32_t>& items, std::int32_t node) {
  return std::span(items).subspan(begin[at(node)], begin[at(node) + 1] - begin[at(node)]);
}

void CallGraph::add_units() {
  for (std::size_t rank = 0; rank < schedule_.calls.size(); ++rank) {
    const auto& calls = schedule_.calls[rank];
    const std::size_t first_unit = units_.size();
    places_.emplace_back(calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const bool joins = i > 0 && calls[i].batch != kNone && calls[i].batch == calls[i - 1].batch;
      if (joins)
        ++units_.back().count;
      else
        units_.push_back({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(i), 1});
      places_[rank][i].unit = static_cast<std::int32_t>(units_.size()) - 1;
    }
    units_of_.emplace_back(first_unit, units_.size());
  }
}

void CallGraph::add_places() {
  MeetingNumbers numbers(schedule_);
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::int32_t> lanes;
  for (std::int32_t rank = 0; at(rank) < schedule_.calls.size(); ++rank) {
    numbers.next_rank();
    for (std::int32_t i = 0; at(i) < schedule_.calls[at(rank)].size(); ++i) {
      const CallRef ref{rank, i};
      const ScheduledCall& call = call_at(schedule_, ref);
      MeetingPlace& place = places_[at(rank)][at(i)];
      if (call.kind == CallKind::collective || call.kind == CallKind::create) {
        place.meeting = numbers.number(call, meetings_, place.number);
        meetings_[at(place.meeting)].arrivals.push_back(ref);
      } else if (call.kind == CallKind::send || call.kind == CallKind::recv) {
        const bool is_send = call.kind == CallKind::send;
        const std::int32_t from = is_send ? rank : call.peer;
        const std::int32_t to = is_send ? call.peer : rank;
        const auto [found, is_new] =
            lanes.try_emplace({call.group, from, to}, static_cast<std::int32_t>(lanes_.size()));
        if (is_new) lanes_.push_back({.group = call.group, .from = from, .to = to, .sends = {}, .recvs = {}});
        place.lane = found->second;
        auto& side = is_send ? lanes_[at(place.lane)].sends : lanes_[at(place.lane)].recvs;
        place.number = static_cast<std::int32_t>(side.size());
        side.push_back(ref);
      }
    }
  }
}

void CallGraph::add_order_within(bool is_one_stream) {
  for (const auto& [begin, end] : units_of_) {
    std::int32_t host = kNone;
    std::map<std::string_view, std::int32_t> last;  // unit given to each stream
    for (std::size_t index = begin; index < end; ++index) {
      const auto unit = static_cast<std::int32_t>(index);
      const ScheduledCall& call = call_at(schedule_, {units_[index].rank, units_[index].first});
      if (host != kNone) add_edge(host, issue_of(unit));
      add_edge(issue_of(unit), start_of_unit(unit));
      add_edge(start_of_unit(unit), end_of(unit));
      const auto wait_for_stream = [&](std::string_view stream) {
        const auto found = last.find(is_one_stream ? std::string_view() : stream);
        if (found != last.end()) add_edge(end_of(found->second), end_of(unit));
      };
      if (call.kind == CallKind::sync && call.awaited.empty()) {
        for (const auto& [stream, work] : last) add_edge(end_of(work), end_of(unit));
      } else if (call.kind == CallKind::sync || call.kind == CallKind::stream_wait) {
        wait_for_stream(call.awaited);
      }
      const bool is_on_stream = !call.stream.empty() && call.kind != CallKind::sync;
      host = is_on_stream ? issue_of(unit) : end_of(unit);
      // Work of the host's own goes to the one stream of the device, too.
      const bool is_queued = is_on_stream || (is_one_stream && call.kind != CallKind::sync);
      if (!is_queued) continue;
      const std::string_view stream = is_one_stream ? std::string_view() : std::string_view(call.stream);
      const auto [place, is_first] = last.try_emplace(stream, unit);
      if (is_first) continue;
      add_edge(end_of(place->second), start_of_unit(unit));
      place->second = unit;
    }
  }
}

void CallGraph::add_meetings() {
  for (std::size_t index = 0; index < meetings_.size(); ++index) {
    const Meeting& meeting = meetings_[index];
    const auto node = first_meeting() + static_cast<std::int32_t>(index);
    const std::size_t expected =
        meeting.group == kNone ? schedule_.calls.size() : schedule_.groups[at(meeting.group)].members.size();
    if (meeting.arrivals.size() < expected) lacks_[at(node)] = 1;
    for (const CallRef ref : meeting.arrivals) {
      add_edge(start_of(ref), node);
      add_edge(node, end_of(place(ref).unit));
    }
  }
}

void CallGraph::add_messages() {
  for (const CallLane& lane : lanes_) {
    const auto slots = at(schedule_.groups[at(lane.group)].slots);
    for (std::size_t k = 0; k < lane.recvs.size(); ++k) {
      const std::int32_t receives = end_of(place(lane.recvs[k]).unit);
      if (k < lane.sends.size())
        add_edge(start_of(lane.sends[k]), receives);
      else
        lacks_[at(receives)] = 1;
    }
    for (std::size_t k = 0; k < lane.sends.size(); ++k) {
      const std::int32_t sent = end_of(place(lane.sends[k]).unit);
      if (k < slots) continue;  // lies in a slot
      if (k - slots >= lane.recvs.size())
        lacks_[at(sent)] = 1;
      else if (slots == 0)
        add_edge(start_of(lane.recvs[k]), sent);
      else
        add_edge(end_of(place(lane.recvs[k - slots]).unit), sent);
    }
  }
}

void CallGraph::sort_edges() {
  out_begin_.assign(node_count() + 1, 0);
  in_begin_.assign(node_count() + 1, 0);
  for (const auto& [from, to] : edges_) {
    ++out_begin_[at(from) + 1];
    ++in_begin_[at(to) + 1];
  }
  for (std::size_t node = 0; node < node_count(); ++node) {
    out_begin_[node + 1] += out_begin_[node];
    in_begin_[node + 1] += in_begin_[node];
  }
  out_.resize(edges_.size());
  in_.resize(edges_.size());
  auto out_next = out_begin_;
  auto in_next = in_begin_;
  for (const auto& [from, to] : edges_) {
    out_[out_next[at(from)]++] = to;
    in_[in_next[at(to)]++] = from;
  }
  edges_ = {};
}

}  // namespace ringcomm::inline v0::plan
