// SPDX-License-Identifier: Apache-2.0
#include "attach_view.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace ringcomm::doctor {
namespace {

using Progress = std::tuple<std::int64_t, std::int64_t, int, std::uint64_t>;

Progress progress_of(const diag::LiveGroup& group) {
  return {group.posted, group.completed, group.step, group.entries};
}

}  // namespace

bool has_moved(const std::vector<diag::LiveRank>& before, const std::vector<diag::LiveRank>& now) {
  std::map<std::tuple<std::uint64_t, int, std::string>, Progress> known;
  for (const diag::LiveRank& rank : before) {
    for (const diag::LiveGroup& group : rank.groups)
      known[{rank.communicator, rank.rank, group.unique_id}] = progress_of(group);
  }
  for (const diag::LiveRank& rank : now) {
    for (const diag::LiveGroup& group : rank.groups) {
      const auto at = known.find({rank.communicator, rank.rank, group.unique_id});
      if (at == known.end() || at->second != progress_of(group)) return true;
    }
  }
  return false;
}

std::int64_t behind(const std::vector<diag::LiveRank>& ranks, const diag::LiveGroup& group) {
  std::int64_t most = group.posted;
  for (const diag::LiveRank& rank : ranks) {
    for (const diag::LiveGroup& other : rank.groups) {
      if (other.unique_id == group.unique_id) most = std::max(most, other.posted);
    }
  }
  return most - group.posted;
}

}  // namespace ringcomm::doctor
