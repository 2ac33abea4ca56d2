// SPDX-License-Identifier: Apache-2.0
// Strongly connected components of the wait-for graph (Tarjan, without recursion: a job may have 10,000
// ranks).
#include <algorithm>
#include <utility>

#include "diag/explain/groups/waits.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// Nodes: the ranks, then the sets. A rank points at its set, a set at its targets.
class Components {
 public:
  explicit Components(const WaitGraph& graph)
      : graph_(graph),
        ranks_(graph.ranks.size()),
        order_(ranks_ + graph.sets.size(), 0),
        low_(order_.size(), 0),
        component_(order_.size(), kUnknown) {}

  std::vector<int> run() {
    for (std::size_t node = 0; node < order_.size(); ++node) {
      if (order_[node] == 0) visit(static_cast<int>(node));
    }
    return component_;
  }

 private:
  std::size_t degree(int node) const {
    const auto at = static_cast<std::size_t>(node);
    if (at < ranks_) return graph_.ranks[at].set == kUnknown ? 0 : 1;
    return graph_.sets[at - ranks_].targets.size();
  }
  int next(int node, std::size_t edge) const {
    const auto at = static_cast<std::size_t>(node);
    if (at < ranks_) return static_cast<int>(ranks_) + graph_.ranks[at].set;
    return graph_.sets[at - ranks_].targets[edge].rank;
  }

  void enter(int node) {
    const auto at = static_cast<std::size_t>(node);
    order_[at] = low_[at] = ++count_;
    open_.push_back(node);
    path_.emplace_back(node, 0);
  }

  void visit(int root) {
    enter(root);
    while (!path_.empty()) {
      auto& [node, edge] = path_.back();
      const auto at = static_cast<std::size_t>(node);
      if (edge < degree(node)) {
        const int to = next(node, edge++);
        if (to == kUnknown) continue;
        if (order_[static_cast<std::size_t>(to)] == 0) {
          enter(to);
        } else if (component_[static_cast<std::size_t>(to)] == kUnknown) {
          low_[at] = std::min(low_[at], order_[static_cast<std::size_t>(to)]);
        }
        continue;
      }
      if (low_[at] == order_[at]) close(node);
      const int low = low_[at];
      path_.pop_back();
      if (!path_.empty()) {
        auto& above = low_[static_cast<std::size_t>(path_.back().first)];
        above = std::min(above, low);
      }
    }
  }

  void close(int node) {
    int member = kUnknown;
    do {
      member = open_.back();
      open_.pop_back();
      component_[static_cast<std::size_t>(member)] = components_;
    } while (member != node);
    ++components_;
  }

  const WaitGraph& graph_;
  std::size_t ranks_;
  std::vector<int> order_, low_, component_, open_;
  std::vector<std::pair<int, std::size_t>> path_;
  int count_ = 0, components_ = 0;
};

}  // namespace

std::vector<std::vector<int>> WaitGraph::closed_cycles() const {
  const std::vector<int> component = Components(*this).run();
  std::vector<std::vector<int>> members(component.size());
  std::vector<char> is_left(component.size(), 0);  // a wait leads out of it
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto own = static_cast<std::size_t>(component[r]);
    members[own].push_back(static_cast<int>(r));
    if (ranks[r].set == kUnknown) continue;
    for (const WaitTarget& target : sets[static_cast<std::size_t>(ranks[r].set)].targets) {
      if (target.rank == kUnknown || component[static_cast<std::size_t>(target.rank)] != component[r])
        is_left[own] = 1;
    }
  }
  std::vector<std::vector<int>> found;
  for (std::size_t c = 0; c < members.size(); ++c) {
    if (members[c].size() > 1 && is_left[c] == 0) found.push_back(std::move(members[c]));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace ringcomm::inline v0::diag
