// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "topology/rings/level_table.hpp"

namespace ringcomm::inline v0 {
namespace {

using topology::LevelTable;

/// Depth-first over paths from position 0.
class RingLister {
 public:
  RingLister(const RingGraph& graph, const LevelTable& table, int level, std::size_t limit)
      : table_(table), limit_(limit), used_(table.vertex.size()), allowed_(table.rank.size()) {
    for (int from = 0; from < table.size; ++from)
      for (int to = 0; to < table.size; ++to)
        allowed_[slot(from, to)] = from != to && graph.at(vertex(from), vertex(to)).level <= level;
    for (int from = 0; from < table.size; ++from)
      for (int to = 0; to < from; ++to)
        if (allowed_[slot(from, to)] != allowed_[slot(to, from)]) two_way_ = false;
  }

  std::vector<std::vector<int>> list() {
    visit(0);
    return std::move(rings_);
  }

 private:
  int vertex(int position) const { return table_.vertex[static_cast<std::size_t>(position)]; }
  std::size_t slot(int from, int to) const { return static_cast<std::size_t>((from * table_.size) + to); }

  void visit(int v) {
    path_.push_back(v);
    used_[static_cast<std::size_t>(v)] = true;
    if (static_cast<int>(path_.size()) == table_.size) close();
    for (int next = 1; next < table_.size && rings_.size() < limit_ && steps_left_ > 0; ++next) {
      if (used_[static_cast<std::size_t>(next)] || !allowed_[slot(v, next)]) continue;
      --steps_left_;
      visit(next);
    }
    used_[static_cast<std::size_t>(v)] = false;
    path_.pop_back();
  }

  void close() {
    if (path_.size() > 1 && !allowed_[slot(path_.back(), 0)]) return;
    if (two_way_ && path_.size() > 2 && path_[1] > path_.back()) return;
    std::vector<int> ring;
    for (const int position : path_) ring.push_back(vertex(position));
    rings_.push_back(std::move(ring));
  }

  const LevelTable& table_;
  std::size_t limit_;
  long long steps_left_ = 20'000'000;
  bool two_way_ = true;
  std::vector<bool> used_;
  std::vector<bool> allowed_;
  std::vector<int> path_;
  std::vector<std::vector<int>> rings_;
};

}  // namespace

std::vector<std::vector<int>> rings_within(const RingGraph& graph, int level, std::size_t limit) {
  if (!topology::check_graph(graph).is_ok() || limit == 0) return {};
  const auto table = topology::make_level_table(graph);
  return RingLister(graph, table, level, limit).list();
}

}  // namespace ringcomm::inline v0
