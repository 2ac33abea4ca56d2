// SPDX-License-Identifier: Apache-2.0
#include "topology/rings/held_karp.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace ringcomm::inline v0::topology {
namespace {

using Set = std::uint32_t;
using Cost = std::uint64_t;

/// Costs of rings that begin at position 0. A stage weighs some levels: edge cost base^level, base above any
/// count, so that comparing sums compares counts of the worst level first. 64 bits hold only some levels;
/// later stages choose among what the earlier ones left tied, the worst levels come first.
class RingTable {
 public:
  explicit RingTable(const LevelTable& levels)
      : levels_(levels),
        others_(levels.size - 1),
        full_((Set{1} << others_) - 1),
        to_go_((std::size_t{full_} + 1) * static_cast<std::size_t>(others_)),
        tied_(to_go_.size(), full_),
        tied_at_start_(full_) {}

  void run_stage(int rank_from, int rank_to) {
    weigh(rank_from, rank_to);
    for (int last = 0; last < others_; ++last) to_go_[slot(full_, last)] = cost(last + 1, 0);
    for (Set seen = full_ - 1; seen > 0; --seen) {
      gather(seen);
      for (Set lasts = seen; lasts != 0; lasts &= lasts - 1) {
        const int last = std::countr_zero(lasts);
        to_go_[slot(seen, last)] = choose(last + 1, full_ & ~seen, tied_[slot(seen, last)]);
      }
    }
    gather(0);
    choose(0, full_, tied_at_start_);
  }

  /// One ring is left, so better levels have nothing to choose.
  bool is_decided() const {
    Set tied = tied_at_start_;
    for (Set seen = 0; seen != full_;) {
      if (!std::has_single_bit(tied)) return false;
      seen |= tied;
      tied = tied_[slot(seen, std::countr_zero(tied))];
    }
    return true;
  }

  /// The lowest bit is the smallest position: the ring is the lexicographically smallest of those that tie.
  std::vector<int> first_of_the_best() const {
    std::vector<int> ring{0};
    Set tied = tied_at_start_;
    for (Set seen = 0; seen != full_;) {
      const int next = std::countr_zero(tied & ~seen);
      seen |= Set{1} << next;
      tied = tied_[slot(seen, next)];
      ring.push_back(next + 1);
    }
    return ring;
  }

 private:
  std::size_t slot(Set seen, int last) const {
    return (std::size_t{seen} * static_cast<std::size_t>(others_)) + static_cast<std::size_t>(last);
  }
  Cost cost(int from, int to) const { return cost_[static_cast<std::size_t>((from * levels_.size) + to)]; }

  void weigh(int rank_from, int rank_to) {
    std::vector<Cost> weight(static_cast<std::size_t>(levels_.ranks) + 1);
    Cost next = 1;
    for (int rank = rank_from; rank <= rank_to; ++rank, next *= static_cast<Cost>(levels_.size) + 1)
      weight[static_cast<std::size_t>(rank)] = next;
    cost_.resize(levels_.rank.size());
    for (std::size_t i = 0; i < cost_.size(); ++i)
      cost_[i] = weight[static_cast<std::size_t>(levels_.rank[i])];
  }

  void gather(Set seen) {
    for (Set rest = full_ & ~seen; rest != 0; rest &= rest - 1) {
      const int next = std::countr_zero(rest);
      then_[static_cast<std::size_t>(next)] = to_go_[slot(seen | (Set{1} << next), next)];
    }
  }

  /// The least cost from `from` on; leaves in `tied` those next vertices that reach it.
  Cost choose(int from, Set rest, Set& tied) {
    Cost least = std::numeric_limits<Cost>::max();
    Set best = 0;
    for (Set open = rest & tied; open != 0; open &= open - 1) {
      const int next = std::countr_zero(open);
      const Cost total = cost(from, next + 1) + then_[static_cast<std::size_t>(next)];
      const Set bit = Set{1} << next;
      if (total < least) {
        least = total;
        best = bit;
      } else if (total == least) {
        best |= bit;
      }
    }
    tied = best;
    return least;
  }

  const LevelTable& levels_;
  int others_;
  Set full_;
  std::vector<Cost> to_go_;
  std::vector<Set> tied_;
  Set tied_at_start_;
  std::vector<Cost> cost_;
  std::array<Cost, kHeldKarpMax> then_{};
};

/// Levels of one stage: base^levels must stay below 2^63, so that sums do not wrap.
int levels_per_stage(int size) { return 62 / std::bit_width(static_cast<unsigned>(size) + 1U); }

}  // namespace

std::vector<int> best_ring(const LevelTable& table) {
  if (table.size == 1) return {0};
  if (table.size == 2) return {0, 1};
  RingTable rings(table);
  const int width = levels_per_stage(table.size);
  // Rank 0 costs nothing: the number of edges is fixed, so the other counts decide.
  for (int top = table.ranks - 1; top > 0 && !rings.is_decided(); top -= width)
    rings.run_stage(std::max(1, top - width + 1), top);
  return rings.first_of_the_best();
}

}  // namespace ringcomm::inline v0::topology
