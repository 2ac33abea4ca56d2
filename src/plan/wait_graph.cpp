// SPDX-License-Identifier: Apache-2.0
#include "plan/wait_graph.hpp"

#include <algorithm>

namespace ringcomm::inline v0::plan {

WaitGraph::WaitGraph(std::span<const RankPlan> slices, const Lanes& lanes)
    : slices_(slices), unit_of_(slices.size()) {
  for (const RankPlan& slice : slices) add_units(slice);
  predecessors_.resize(2 * units_.size());
  for (const RankPlan& slice : slices) add_edges_within(slice);
  for (const Lane& lane : lanes.all()) add_edges_between(lane);
  sort();
}

void WaitGraph::add_units(const RankPlan& slice) {
  std::int32_t last[2] = {kNone, kNone};
  auto& units = unit_of_[static_cast<std::size_t>(slice.rank)];
  for (std::size_t index = 0; index < slice.ops.size(); ++index) {
    const Op& op = slice.ops[index];
    const int stream = op.stream == StreamRole::comm ? 0 : 1;
    const bool joins = last[stream] != kNone && op.group != kNone &&
                       op_at(slices_, unit(last[stream]).members.front()).group == op.group;
    if (!joins) {
      const std::int32_t position = last[stream] == kNone ? 0 : unit(last[stream]).position + 1;
      last[stream] = static_cast<std::int32_t>(units_.size());
      units_.push_back({.members = {}, .queue = 2 * slice.rank + stream, .position = position});
    }
    units_[static_cast<std::size_t>(last[stream])].members.push_back(
        {slice.rank, static_cast<std::int32_t>(index)});
    units.push_back(last[stream]);
  }
}

void WaitGraph::add_edges_within(const RankPlan& slice) {
  const auto& units = unit_of_[static_cast<std::size_t>(slice.rank)];
  std::int32_t last[2] = {kNone, kNone};
  for (std::size_t index = 0; index < slice.ops.size(); ++index) {
    const Op& op = slice.ops[index];
    const std::int32_t here = units[index];
    if (op.after != kNone) add_edge(end_of(units[static_cast<std::size_t>(op.after)]), start_of(here));
    std::int32_t& before = last[op.stream == StreamRole::comm ? 0 : 1];
    if (before == here) continue;
    add_edge(start_of(here), end_of(here));
    if (before != kNone) add_edge(end_of(before), start_of(here));
    before = here;
  }
}

void WaitGraph::add_edges_between(const Lane& lane) {
  for (std::size_t k = 0; k < lane.out.size(); ++k) {
    const std::int32_t out = unit_of(lane.out[k]);
    const std::int32_t in = unit_of(lane.in[k]);
    if (op_at(slices_, lane.out[k]).kind == OpKind::send) {
      add_edge(start_of(out), end_of(in));
      add_edge(start_of(in), end_of(out));
      continue;
    }
    add_edge(end_of(out), end_of(in));
    if (k + kLaneDepth < lane.out.size()) add_edge(end_of(in), end_of(unit_of(lane.out[k + kLaneDepth])));
  }
  for (std::size_t k = 0; k < lane.reclaims.size(); ++k)
    add_edge(end_of(unit_of(lane.releases[k])), end_of(unit_of(lane.reclaims[k])));
}

void WaitGraph::sort() {
  std::vector<std::vector<std::int32_t>> successors(predecessors_.size());
  std::vector<std::size_t> missing(predecessors_.size());
  place_.assign(predecessors_.size(), kNone);
  for (std::size_t node = 0; node < predecessors_.size(); ++node) {
    missing[node] = predecessors_[node].size();
    if (missing[node] == 0) order_.push_back(static_cast<std::int32_t>(node));
    for (const std::int32_t from : predecessors_[node])
      successors[node_index(from)].push_back(static_cast<std::int32_t>(node));
  }
  for (std::size_t done = 0; done < order_.size(); ++done) {
    const std::int32_t node = order_[done];
    place_[node_index(node)] = static_cast<std::int32_t>(done);
    for (const std::int32_t to : successors[node_index(node)]) {
      if (--missing[node_index(to)] == 0) order_.push_back(to);
    }
  }
}

OpRef WaitGraph::culprit(std::int32_t node) const { return unit(unit_of_node(node)).members.front(); }

std::vector<OpRef> WaitGraph::find_cycle() const {
  if (order_.size() == predecessors_.size()) return {};
  const auto is_stuck = [&](std::int32_t node) { return place_[node_index(node)] == kNone; };
  // A stuck node has a stuck predecessor, so walking backwards must come round.
  std::int32_t node = 0;
  while (!is_stuck(node)) ++node;
  std::vector<std::int32_t> path;
  std::vector<std::int32_t> visited_at(predecessors_.size(), kNone);
  while (visited_at[node_index(node)] == kNone) {
    visited_at[node_index(node)] = static_cast<std::int32_t>(path.size());
    path.push_back(node);
    node = *std::find_if(predecessors_[node_index(node)].begin(), predecessors_[node_index(node)].end(),
                         is_stuck);
  }
  std::vector<OpRef> cycle;
  for (auto at = static_cast<std::size_t>(visited_at[node_index(node)]); at < path.size(); ++at) {
    const OpRef ref = culprit(path[at]);
    if (cycle.empty() || cycle.back() != ref) cycle.push_back(ref);
  }
  if (cycle.size() > 1 && cycle.front() == cycle.back()) cycle.pop_back();
  return cycle;
}

void WaitGraph::compute_clocks() {
  const std::size_t queues = 2 * slices_.size();
  clocks_.assign(predecessors_.size() * queues, 0);
  for (const std::int32_t node : order_) {
    std::uint32_t* clock = &clocks_[node_index(node) * queues];
    for (const std::int32_t from : predecessors_[node_index(node)]) {
      const std::uint32_t* earlier = &clocks_[node_index(from) * queues];
      for (std::size_t queue = 0; queue < queues; ++queue)
        clock[queue] = std::max(clock[queue], earlier[queue]);
      if (!is_end(from)) continue;
      const Unit& ended = unit(unit_of_node(from));
      std::uint32_t& count = clock[static_cast<std::size_t>(ended.queue)];
      count = std::max(count, static_cast<std::uint32_t>(ended.position) + 1);
    }
  }
}

std::int32_t WaitGraph::access_node(OpRef ref) const {
  const std::int32_t here = unit_of(ref);
  return is_message(op_at(slices_, ref).kind) ? start_of(here) : end_of(here);
}

bool WaitGraph::happens_before(OpRef a, OpRef b) const {
  const Unit& first = unit(unit_of(a));
  const std::size_t queues = 2 * slices_.size();
  return clocks_[node_index(access_node(b)) * queues + static_cast<std::size_t>(first.queue)] >
         static_cast<std::uint32_t>(first.position);
}

std::int32_t WaitGraph::unit_of(OpRef ref) const {
  return unit_of_[static_cast<std::size_t>(ref.rank)][static_cast<std::size_t>(ref.index)];
}

std::span<const OpRef> WaitGraph::members(std::int32_t index) const { return unit(index).members; }

}  // namespace ringcomm::inline v0::plan
