// SPDX-License-Identifier: Apache-2.0
#include "topology/rings/lower_bound.hpp"

#include <algorithm>
#include <numeric>

namespace ringcomm::inline v0::topology {
namespace {

struct Part {
  int missing_ends = 0;  ///< of the two that each vertex needs in a ring
  int no_exit = 0;
  int no_entry = 0;

  int paths() const { return std::max({(missing_ends + 1) / 2, no_exit, no_entry}); }
};

/// The least number of edges above `rank_max` in any ring.
int least_above(const LevelTable& table, int rank_max) {
  const auto part_of = components(table, rank_max);
  std::vector<Part> parts(static_cast<std::size_t>(std::ranges::max(part_of)) + 1);
  for (int v = 0; v < table.size; ++v) {
    int out = 0;
    int in = 0;
    int both = 0;
    for (int w = 0; w < table.size; ++w) {
      if (w == v) continue;
      const bool leaves = table.at(v, w) <= rank_max;
      const bool enters = table.at(w, v) <= rank_max;
      out += leaves ? 1 : 0;
      in += enters ? 1 : 0;
      both += leaves || enters ? 1 : 0;
    }
    Part& part = parts[static_cast<std::size_t>(part_of[static_cast<std::size_t>(v)])];
    part.missing_ends += 2 - std::min(2, both);
    part.no_exit += out == 0 ? 1 : 0;
    part.no_entry += in == 0 ? 1 : 0;
  }
  if (parts.size() == 1) return parts.front().paths();
  return std::accumulate(parts.begin(), parts.end(), 0,
                         [](int sum, const Part& part) { return sum + std::max(1, part.paths()); });
}

}  // namespace

std::vector<int> components(const LevelTable& table, int rank_max) {
  std::vector<int> part(static_cast<std::size_t>(table.size), -1);
  std::vector<int> open;
  int count = 0;
  for (int first = 0; first < table.size; ++first) {
    if (part[static_cast<std::size_t>(first)] >= 0) continue;
    part[static_cast<std::size_t>(first)] = count;
    open.push_back(first);
    while (!open.empty()) {
      const int v = open.back();
      open.pop_back();
      for (int w = 0; w < table.size; ++w) {
        if (part[static_cast<std::size_t>(w)] >= 0 || std::min(table.at(v, w), table.at(w, v)) > rank_max)
          continue;
        part[static_cast<std::size_t>(w)] = count;
        open.push_back(w);
      }
    }
    ++count;
  }
  return part;
}

bool is_proven_best(const LevelTable& table, const std::vector<int>& counts) {
  // In a ring of two both edges join the same pair: the ends of the path cover do not apply.
  if (table.size < 3) return true;
  int above = 0;
  for (int rank = table.ranks - 1; rank > 0; --rank) {
    above += counts[static_cast<std::size_t>(table.ranks - 1 - rank)];
    if (above > least_above(table, rank - 1)) return false;
  }
  return true;
}

}  // namespace ringcomm::inline v0::topology
