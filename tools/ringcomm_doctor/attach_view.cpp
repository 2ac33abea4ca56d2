// SPDX-License-Identifier: Apache-2.0
#include "attach_view.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace ringcomm::doctor {
namespace {

using diag::LiveGroup;
using diag::LiveRank;
using Progress = std::tuple<std::int64_t, std::int64_t, int, std::uint64_t>;

Progress progress_of(const LiveGroup& group) {
  return {group.posted, group.completed, group.step, group.entries};
}

/// Calls `visit(group, moved)` for each group of each rank of `now`.
template <class Visit>
void for_each_group(const std::vector<LiveRank>& before, const std::vector<LiveRank>& now, Visit visit) {
  std::map<std::tuple<std::uint64_t, int, std::string>, Progress> known;
  for (const LiveRank& rank : before) {
    for (const LiveGroup& group : rank.groups)
      known[{rank.communicator, rank.rank, group.unique_id}] = progress_of(group);
  }
  for (const LiveRank& rank : now) {
    for (const LiveGroup& group : rank.groups) {
      const auto at = known.find({rank.communicator, rank.rank, group.unique_id});
      visit(group, at == known.end() || at->second != progress_of(group));
    }
  }
}

}  // namespace

bool has_moved(const std::vector<LiveRank>& before, const std::vector<LiveRank>& now) {
  bool moved = false;
  for_each_group(before, now,
                 [&](const LiveGroup&, bool has_moved_here) { moved = moved || has_moved_here; });
  return moved;
}

std::set<std::string> standing_groups(const std::vector<LiveRank>& before, const std::vector<LiveRank>& now,
                                      std::int64_t age_ns) {
  std::set<std::string> standing, moving;
  for_each_group(before, now, [&](const LiveGroup& group, bool has_moved_here) {
    if (has_moved_here) moving.insert(group.unique_id);
    if (group.is_open && group.age_ns >= age_ns) standing.insert(group.unique_id);
  });
  for (const std::string& id : moving) standing.erase(id);
  return standing;
}

diag::HangEvidence facts_of_groups(diag::HangEvidence evidence, const std::set<std::string>& unique_ids) {
  std::set<std::pair<std::int32_t, std::string>> keys;  // a record's own names of groups
  for (const diag::GroupFact& group : evidence.groups) {
    if (unique_ids.count(group.unique_id) > 0) keys.insert({group.source.file, group.key});
  }
  const auto is_of_others = [&](const auto& fact) { return keys.count({fact.source.file, fact.group}) == 0; };
  std::erase_if(evidence.groups, [&](const diag::GroupFact& group) {
    return keys.count({group.source.file, group.key}) == 0;
  });
  std::erase_if(evidence.ops, is_of_others);
  std::erase_if(evidence.steps, is_of_others);
  std::erase_if(evidence.counters, is_of_others);
  return evidence;
}

std::int64_t behind(const std::vector<LiveRank>& ranks, const LiveGroup& group) {
  std::int64_t most = group.posted;
  for (const LiveRank& rank : ranks) {
    for (const LiveGroup& other : rank.groups) {
      if (other.unique_id == group.unique_id) most = std::max(most, other.posted);
    }
  }
  return most - group.posted;
}

}  // namespace ringcomm::doctor
