// SPDX-License-Identifier: Apache-2.0
// Everything that any call of a schedule waits for, as one graph.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/schedule/call_text.hpp"

namespace ringcomm::inline v0::plan {

/// A call, or a batch that is posted together: calls [first, first + count) of its rank.
struct CallUnit {
  std::int32_t rank = 0, first = 0, count = 0;
};

/// The k-th collective of a group, or a creation.
struct Meeting {
  std::int32_t group = kNone;  ///< kNone: of all ranks (a creation)
  std::vector<CallRef> arrivals{};
};

/// Messages of one group from one rank to another: the k-th send meets the k-th recv.
struct CallLane {
  std::int32_t group = kNone, from = kNone, to = kNone;
  std::vector<CallRef> sends{}, recvs{};
};

/// Where a call meets others.
struct MeetingPlace {
  std::int32_t unit = kNone, meeting = kNone, lane = kNone, number = kNone;
};

/// A unit has three nodes: issue (its host has reached it), start, end; a meeting has one, between the starts
/// and the ends of its calls. Edges mean "not before": within the host's order, within a stream, the AND over
/// a meeting, both sides of a message (a send with slots left waits for an earlier recv only).
class CallGraph {
 public:
  /// The schedule has passed the checks of check_schedule() and outlives this.
  CallGraph(const CallSchedule& schedule, bool is_one_stream);

  std::size_t node_count() const { return lacks_.size(); }
  std::span<const std::int32_t> successors(std::int32_t node) const { return row(out_begin_, out_, node); }
  std::span<const std::int32_t> predecessors(std::int32_t node) const { return row(in_begin_, in_, node); }
  /// It waits for a call that nobody makes.
  bool lacks(std::int32_t node) const { return lacks_[static_cast<std::size_t>(node)] != 0; }

  const std::vector<CallUnit>& units() const { return units_; }
  const std::vector<Meeting>& meetings() const { return meetings_; }
  const std::vector<CallLane>& lanes() const { return lanes_; }
  const MeetingPlace& place(CallRef ref) const {
    return places_[static_cast<std::size_t>(ref.rank)][static_cast<std::size_t>(ref.index)];
  }
  std::int32_t start_of(CallRef ref) const { return 3 * place(ref).unit + 1; }
  /// kNone for the node of a meeting.
  std::int32_t unit_of(std::int32_t node) const { return is_meeting(node) ? kNone : node / 3; }
  bool is_start(std::int32_t node) const { return !is_meeting(node) && node % 3 == 1; }
  bool is_meeting(std::int32_t node) const { return node >= first_meeting(); }
  std::int32_t meeting_of(std::int32_t node) const { return node - first_meeting(); }
  const CallUnit& unit(std::int32_t index) const { return units_[static_cast<std::size_t>(index)]; }

 private:
  std::int32_t first_meeting() const { return static_cast<std::int32_t>(3 * units_.size()); }
  static std::span<const std::int32_t> row(const std::vector<std::size_t>& begin,
                                           const std::vector<std::int32_t>& items, std::int32_t node);
  void add_units();
  void add_places();
  void add_order_within(bool is_one_stream);
  void add_meetings();
  void add_messages();
  void add_edge(std::int32_t from, std::int32_t to) { edges_.emplace_back(from, to); }
  void sort_edges();

  const CallSchedule& schedule_;
  std::vector<CallUnit> units_;
  std::vector<std::pair<std::size_t, std::size_t>> units_of_;  ///< [rank] range in units_
  std::vector<Meeting> meetings_;
  std::vector<CallLane> lanes_;
  std::vector<std::vector<MeetingPlace>> places_;
  std::vector<std::pair<std::int32_t, std::int32_t>> edges_;
  std::vector<std::uint8_t> lacks_;
  std::vector<std::size_t> out_begin_, in_begin_;
  std::vector<std::int32_t> out_, in_;
};

}  // namespace ringcomm::inline v0::plan
