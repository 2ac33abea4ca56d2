// SPDX-License-Identifier: Apache-2.0
#include "topology/rings/ring_packing.hpp"

#include <algorithm>
#include <cstddef>

namespace ringcomm::inline v0::topology {
namespace {

/// Depth-first, ring after ring, each lexicographically at or after the one before.
class Packer {
 public:
  Packer(const PackingTask& task, long long& steps_left)
      : task_(task), steps_left_(steps_left), left_(task.links), used_(static_cast<std::size_t>(task.size)) {}

  std::optional<std::vector<std::vector<int>>> run() {
    charge(left_.size());
    if (!task_.first.empty()) {
      path_ = task_.first;
      take(-1);
      rings_.push_back(path_);
      fixed_ = 1;
    }
    path_.assign(1, 0);
    if (!has_ends_enough() || !extend(false)) return {};
    return rings_;
  }

 private:
  // Looking at this many numbers takes about as long as one step of the search.
  static constexpr std::size_t kLooksPerStep = 16;
  void charge(std::size_t looks) { steps_left_ -= static_cast<long long>(looks / kLooksPerStep); }

  int& left(int from, int to) { return left_[static_cast<std::size_t>((from * task_.size) + to)]; }
  int remaining() const { return task_.rings - static_cast<int>(rings_.size()); }
  int ends_left(int v) {
    int count = 0;
    for (int w = 0; w < task_.size; ++w)
      if (w != v) count += left(v, w);
    return count;
  }
  int ends_per_ring() const { return task_.use == RingUse::two_way ? 2 : 1; }

  /// A ring takes as many ends of every vertex, so this never changes once it holds.
  bool has_ends_enough() {
    for (int v = 0; v < task_.size; ++v)
      if (ends_left(v) < remaining() * ends_per_ring()) return false;
    return true;
  }

  /// Takes (-1) or returns (1) one link of every edge of the path.
  void take(int sign) {
    for (std::size_t i = 0; i < path_.size(); ++i) {
      const int from = path_[i];
      const int to = path_[(i + 1) % path_.size()];
      left(from, to) += sign;
      if (task_.use == RingUse::two_way) left(to, from) += sign;
    }
  }

  /// Continues the path of the current ring. `is_above`: it already differs from the ring before, upwards.
  bool extend(bool is_above) {
    if (remaining() == 0) return true;
    if (steps_left_ <= 0) return false;
    const std::size_t depth = path_.size();
    charge(used_.size());
    if (depth == used_.size()) return close();
    const bool is_bounded = !is_above && rings_.size() > fixed_;
    const int floor = is_bounded ? rings_.back()[depth] : 1;
    // When all links are needed, the lowest neighbour left of position 0 is needed by some ring, and in this
    // order of rings that is the next one.
    const bool is_forced = depth == 1 && ends_left(0) == remaining() * ends_per_ring();
    for (int next = floor; next < task_.size; ++next) {
      if (used_[static_cast<std::size_t>(next)] || left(path_.back(), next) <= 0) continue;
      if (--steps_left_ <= 0) return false;
      used_[static_cast<std::size_t>(next)] = true;
      path_.push_back(next);
      const bool found = extend(!is_bounded || next > floor);
      path_.pop_back();
      used_[static_cast<std::size_t>(next)] = false;
      if (found) return true;
      if (is_forced) return false;
    }
    return false;
  }

  bool close() {
    if (left(path_.back(), 0) <= 0) return false;
    if (task_.use == RingUse::two_way && path_[1] > path_.back()) return false;
    charge(rings_.size() + used_.size());
    if (std::ranges::count(rings_, path_) >= task_.repeat_max) return false;
    const auto path = path_;
    const auto used = used_;
    take(-1);
    rings_.push_back(path_);
    path_.assign(1, 0);
    used_.assign(used_.size(), false);
    const bool found = extend(false);
    path_ = path;
    used_ = used;
    if (found) return true;
    rings_.pop_back();
    take(1);
    return false;
  }

  const PackingTask& task_;
  long long& steps_left_;
  std::vector<int> left_;
  std::vector<bool> used_;
  std::vector<int> path_;
  std::vector<std::vector<int>> rings_;
  std::size_t fixed_ = 0;
};

}  // namespace

std::optional<std::vector<std::vector<int>>> pack_rings(const PackingTask& task, long long& steps_left) {
  return Packer(task, steps_left).run();
}

}  // namespace ringcomm::inline v0::topology
