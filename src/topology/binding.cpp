// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/topology/binding.hpp"

#include <algorithm>
#include <cstddef>
#include <span>

namespace ringcomm::inline v0 {
namespace {

using Cores = std::vector<CoreInfo>;

/// Cores that share a package and a memory node: a rank stays within one where it can.
std::vector<Cores> group_by_memory_node(const Cores& cores) {
  std::vector<Cores> groups;
  for (const auto& core : cores) {
    if (core.cpus.empty()) continue;
    const auto home = std::ranges::find_if(groups, [&](const Cores& group) {
      return group.front().package == core.package && group.front().memory_node == core.memory_node;
    });
    if (home == groups.end()) {
      groups.push_back({core});
    } else {
      home->push_back(core);
    }
  }
  return groups;
}

Cores joined(std::span<const Cores> groups) {
  Cores all;
  for (const auto& group : groups) all.insert(all.end(), group.begin(), group.end());
  return all;
}

/// First hardware threads of all cores, then the second ones: a team that binds worker i to CPU i then fills
/// whole cores before it shares one.
Placement placement_on(std::span<const CoreInfo> cores) {
  Placement placement{.cpus = {}, .memory_node = cores.front().memory_node};
  for (std::size_t thread = 0, added = 1; added > 0; ++thread) {
    added = 0;
    for (const auto& core : cores) {
      if (thread >= core.cpus.size()) continue;
      placement.cpus.push_back(core.cpus[thread]);
      ++added;
    }
  }
  for (const auto& core : cores) {
    if (core.memory_node != placement.memory_node) placement.memory_node = -1;
  }
  return placement;
}

/// Ranks for each group, at least one core a rank. Giving the next rank to the group with most cores per rank
/// makes the least-served rank as well off as possible (D'Hondt's method); a tiny group may stay empty.
std::vector<std::size_t> ranks_per_group(const std::vector<Cores>& groups, std::size_t ranks) {
  std::vector<std::size_t> counts(groups.size(), 0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < groups.size(); ++i) {
      if (groups[i].size() * (counts[best] + 1) > groups[best].size() * (counts[i] + 1)) best = i;
    }
    ++counts[best];
  }
  return counts;
}

std::vector<Placement> split_groups(const std::vector<Cores>& groups, std::size_t ranks) {
  const auto counts = ranks_per_group(groups, ranks);
  std::vector<Placement> placements;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const std::span<const CoreInfo> cores = groups[i];
    for (std::size_t part = 0; part < counts[i]; ++part) {
      const std::size_t first = part * cores.size() / counts[i];
      const std::size_t past = (part + 1) * cores.size() / counts[i];
      placements.push_back(placement_on(cores.subspan(first, past - first)));
    }
  }
  return placements;
}

/// Ends of `ranks` runs of neighbouring groups with at least `cores_min` cores each, the last run taking the
/// rest; empty when there are too few cores for that.
std::vector<std::size_t> run_ends(const std::vector<Cores>& groups, std::size_t ranks,
                                  std::size_t cores_min) {
  std::vector<std::size_t> ends;
  std::size_t cores = 0;
  for (std::size_t i = 0; i < groups.size() && ends.size() < ranks; ++i) {
    cores += groups[i].size();
    if (cores < cores_min) continue;
    ends.push_back(i + 1);
    cores = 0;
  }
  if (ends.size() < ranks) return {};
  ends.back() = groups.size();
  return ends;
}

/// Fewer ranks than memory nodes: whole nodes, the smallest share as large as it can be.
std::vector<Placement> merge_groups(const std::vector<Cores>& groups, std::size_t ranks) {
  std::vector<std::size_t> ends;
  for (std::size_t cores_min = joined(groups).size() / ranks; ends.empty(); --cores_min) {
    ends = run_ends(groups, ranks, cores_min);
  }
  std::vector<Placement> placements;
  std::size_t first = 0;
  for (const std::size_t end : ends) {
    placements.push_back(placement_on(joined(std::span(groups).subspan(first, end - first))));
    first = end;
  }
  return placements;
}

}  // namespace

std::vector<Placement> spread_ranks(const std::vector<CoreInfo>& cores, int local_ranks) {
  if (local_ranks <= 0) return {};
  const auto ranks = static_cast<std::size_t>(local_ranks);
  const auto groups = group_by_memory_node(cores);
  const Cores usable = joined(groups);
  if (usable.empty()) return std::vector<Placement>(ranks);
  if (ranks < groups.size()) return merge_groups(groups, ranks);
  if (ranks <= usable.size()) return split_groups(groups, ranks);
  std::vector<Placement> placements;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    placements.push_back(placement_on(std::span(usable).subspan(rank % usable.size(), 1)));
  }
  return placements;
}

}  // namespace ringcomm::inline v0
