// SPDX-License-Identifier: Apache-2.0
#include "topology/rings/local_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <utility>

namespace ringcomm::inline v0::topology {
namespace {

/// Vertices that an Or-opt move takes along; longer pieces where 2-opt cannot help (one-way levels).
constexpr int kPieceMax = 3;
constexpr int kOneWayPieceMax = 50;

/// Ranks of the edges of one move, worst first. Of two sets of equal size the one with the lesser cost vector
/// comes first in this order.
template <std::size_t N>
std::array<int, N> worst_first(std::array<int, N> ranks) {
  std::ranges::sort(ranks, std::greater{});
  return ranks;
}

class Improver {
 public:
  Improver(const LevelTable& table, std::vector<int>& ring)
      : table_(table), ring_(ring), size_(table.size), place_(ring.size()) {
    for (int i = 0; i < size_; ++i) note(i);
    if (table.is_symmetric) sort_neighbours();
  }

  void run() {
    for (bool moved = true; moved;) {
      moved = table_.is_symmetric && two_opt();
      moved = or_opt() || moved;
    }
  }

 private:
  int at(int place) const { return ring_[static_cast<std::size_t>(place)]; }
  int wrapped(int place) const { return place >= size_ ? place - size_ : place < 0 ? place + size_ : place; }
  void note(int place) { place_[static_cast<std::size_t>(at(place))] = place; }

  void sort_neighbours() {
    neighbours_.resize(ring_.size());
    for (int v = 0; v < size_; ++v) {
      auto& near = neighbours_[static_cast<std::size_t>(v)];
      for (int w = 0; w < size_; ++w)
        if (w != v && table_.at(v, w) < table_.ranks - 1) near.push_back(w);
      std::ranges::stable_sort(near, {}, [&](int w) { return table_.at(v, w); });
    }
  }

  bool two_opt() {
    bool moved = false;
    for (int v = 0; v < size_; ++v)
      while (two_opt_from(v, 1) || two_opt_from(v, -1)) moved = true;
    return moved;
  }

  /// Replaces the edge from `v` to its neighbour on one side. One of the two new edges must be better than
  /// the old one that shares its end, so only better neighbours of `v` need a look.
  bool two_opt_from(int v, int side) {
    const int next = at(wrapped(place_[static_cast<std::size_t>(v)] + side));
    const int old = table_.at(v, next);
    for (const int w : neighbours_[static_cast<std::size_t>(v)]) {
      if (table_.at(v, w) >= old) return false;
      const int w_next = at(wrapped(place_[static_cast<std::size_t>(w)] + side));
      if (worst_first(std::array{table_.at(v, w), table_.at(next, w_next)}) <
          worst_first(std::array{old, table_.at(w, w_next)})) {
        if (side > 0)
          reverse(place_[static_cast<std::size_t>(next)], place_[static_cast<std::size_t>(w)]);
        else
          reverse(place_[static_cast<std::size_t>(w)], place_[static_cast<std::size_t>(next)]);
        return true;
      }
    }
    return false;
  }

  /// The places from..to (forward, may wrap), or what is outside them if that is shorter.
  void reverse(int from, int to) {
    int length = wrapped(to - from) + 1;
    if (length > size_ - length) {
      std::swap(from, to);
      from = wrapped(from + 1);
      to = wrapped(to - 1);
      length = size_ - length;
    }
    for (int step = 0; step < length / 2; ++step) {
      std::swap(ring_[static_cast<std::size_t>(from)], ring_[static_cast<std::size_t>(to)]);
      note(from);
      note(to);
      from = wrapped(from + 1);
      to = wrapped(to - 1);
    }
  }

  bool or_opt() {
    const int longest = std::min(table_.is_symmetric ? kPieceMax : kOneWayPieceMax, size_ - 2);
    bool moved = false;
    for (int first = 0; first < size_; ++first)
      for (int length = 1; length <= longest; ++length)
        if (move_piece(first, length)) moved = true;
    return moved;
  }

  bool move_piece(int first, int length) {
    const int before = at(wrapped(first - 1));
    const int head = at(first);
    const int tail = at(wrapped(first + length - 1));
    const int after = at(wrapped(first + length));
    const int closed = table_.at(before, after);
    const std::array left{table_.at(before, head), table_.at(tail, after)};
    for (int gap = length; gap < size_ - 1; ++gap) {
      const int u = at(wrapped(first + gap));
      const int w = at(wrapped(first + gap + 1));
      const auto old = worst_first(std::array{left[0], left[1], table_.at(u, w)});
      if (closed > old[0]) continue;
      if (worst_first(std::array{closed, table_.at(u, head), table_.at(tail, w)}) < old) {
        shift(first, length, gap, false);
        return true;
      }
      if (table_.is_symmetric &&
          worst_first(std::array{closed, table_.at(u, tail), table_.at(head, w)}) < old) {
        shift(first, length, gap, true);
        return true;
      }
    }
    return false;
  }

  /// Moves the piece of `length` at place `first` behind the vertex at first + gap.
  void shift(int first, int length, int gap, bool reversed) {
    std::vector<int> piece;
    for (int i = 0; i < length; ++i) piece.push_back(at(wrapped(first + i)));
    if (reversed) std::ranges::reverse(piece);
    int place = first;
    for (int i = length; i <= gap; ++i, place = wrapped(place + 1)) put(place, at(wrapped(first + i)));
    for (const int v : piece) {
      put(place, v);
      place = wrapped(place + 1);
    }
  }
  void put(int place, int v) {
    ring_[static_cast<std::size_t>(place)] = v;
    note(place);
  }

  const LevelTable& table_;
  std::vector<int>& ring_;
  int size_;
  std::vector<int> place_;  ///< of each position in the ring
  std::vector<std::vector<int>> neighbours_;
};

}  // namespace

std::vector<int> nearest_neighbour_ring(const LevelTable& table, int first) {
  std::vector<int> ring{first};
  std::vector<bool> used(static_cast<std::size_t>(table.size));
  used[static_cast<std::size_t>(first)] = true;
  while (static_cast<int>(ring.size()) < table.size) {
    int nearest = -1;
    for (int v = 0; v < table.size; ++v)
      if (!used[static_cast<std::size_t>(v)] &&
          (nearest < 0 || table.at(ring.back(), v) < table.at(ring.back(), nearest)))
        nearest = v;
    used[static_cast<std::size_t>(nearest)] = true;
    ring.push_back(nearest);
  }
  return ring;
}

void improve(const LevelTable& table, std::vector<int>& ring) {
  if (table.size > 3 && table.ranks > 1) Improver(table, ring).run();
}

std::vector<int> shaken(std::vector<int> ring, unsigned turn) {
  // minstd_rand's numbers are fixed by the standard: every rank shakes alike. Its distributions are not.
  std::minstd_rand random(turn + 1);
  random.discard(8);
  std::array<std::size_t, 3> cuts{};
  for (auto& cut : cuts) cut = 1 + (random() % (ring.size() - 1));
  std::ranges::sort(cuts);
  const auto at = [&](std::size_t i) { return ring.begin() + static_cast<std::ptrdiff_t>(cuts[i]); };
  std::rotate(at(0), at(1), at(2));
  return ring;
}

}  // namespace ringcomm::inline v0::topology
