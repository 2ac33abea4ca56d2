// SPDX-License-Identifier: Apache-2.0
#include "plan/schedule/call_cycle.hpp"

#include <algorithm>

namespace ringcomm::inline v0::plan {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

struct Frame {
  std::int32_t node;
  std::size_t next;  ///< predecessor to look at
};

/// Depth first, without recursion: a schedule may be half a million calls deep.
std::vector<std::int32_t> any_cycle(const CallGraph& graph, const CallRun& run) {
  enum : std::uint8_t { fresh, on_path, left };
  std::vector<std::uint8_t> colour(graph.node_count(), fresh);
  std::vector<Frame> path;
  for (std::size_t root = 0; root < colour.size(); ++root) {
    if (run.is_done[root] != 0 || colour[root] != fresh) continue;
    path.push_back({static_cast<std::int32_t>(root), 0});
    colour[root] = on_path;
    while (!path.empty()) {
      const std::int32_t node = path.back().node;
      const auto waits_for = graph.predecessors(node);
      if (path.back().next == waits_for.size()) {
        colour[at(node)] = left;
        path.pop_back();
        continue;
      }
      const std::int32_t to = waits_for[path.back().next++];
      if (run.is_done[at(to)] != 0 || colour[at(to)] == left) continue;
      if (colour[at(to)] == fresh) {
        colour[at(to)] = on_path;
        path.push_back({to, 0});
        continue;
      }
      std::vector<std::int32_t> cycle;
      const auto begin = std::find_if(path.begin(), path.end(), [&](const Frame& f) { return f.node == to; });
      for (auto frame = begin; frame != path.end(); ++frame) cycle.push_back(frame->node);
      return cycle;
    }
  }
  return {};
}

/// The shortest circle through `node`, breadth first.
std::vector<std::int32_t> shortest_through(const CallGraph& graph, const CallRun& run, std::int32_t node) {
  std::vector<std::int32_t> from(graph.node_count(), kNone);
  std::vector<std::int32_t> queue{node};
  for (std::size_t next = 0; next < queue.size(); ++next) {
    for (const std::int32_t to : graph.predecessors(queue[next])) {
      if (to == node) {
        std::vector<std::int32_t> cycle;
        for (std::int32_t back = queue[next]; back != node; back = from[at(back)]) cycle.push_back(back);
        cycle.push_back(node);
        std::reverse(cycle.begin(), cycle.end());
        return cycle;
      }
      if (run.is_done[at(to)] != 0 || from[at(to)] != kNone) continue;
      from[at(to)] = queue[next];
      queue.push_back(to);
    }
  }
  return {};
}

}  // namespace

std::vector<std::int32_t> find_wait_cycle(const CallGraph& graph, const CallRun& run) {
  constexpr std::size_t kTries = 8;  // each costs as much as the whole search
  std::vector<std::int32_t> best = any_cycle(graph, run);
  const std::vector<std::int32_t> first = best;
  for (std::size_t i = 0; i < std::min(first.size(), kTries); ++i) {
    const auto node = first[i * first.size() / std::min(first.size(), kTries)];
    if (auto cycle = shortest_through(graph, run, node); !cycle.empty() && cycle.size() < best.size())
      best = std::move(cycle);
  }
  return best;
}

}  // namespace ringcomm::inline v0::plan
