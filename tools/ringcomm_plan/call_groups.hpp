// SPDX-License-Identifier: Apache-2.0
// The groups of a schedule file: single ones, families of which each rank is in one, and grids.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/plan/schedule.hpp"

namespace ringcomm::planner {

class CallGroups {
 public:
  /// "grid" and "groups" of the file; errors say which group, without the file's name.
  static Result<CallGroups> read(const nlohmann::json& object, std::size_t ranks);

  const std::vector<plan::ScheduledGroup>& all() const { return groups_; }
  /// Indices of the groups of that name: one, or those of a family; empty: unknown.
  const std::vector<int>& named(std::string_view name) const;
  /// The one of that name with this rank in it, or -1.
  int of_rank(std::string_view name, int rank) const;
  /// The member `distance` behind this rank in the group, round the end; -1: the rank is no member.
  int neighbour(int group, int rank, std::int64_t distance) const;
  /// The known name that is most like this one.
  std::string nearest(std::string_view name) const;

 private:
  Status add_grid(const nlohmann::json& grid, std::size_t ranks);
  Status add(const std::string& name, const nlohmann::json& value);
  Status add_members(const std::string& name, const nlohmann::json& members);
  Status add_group(const std::string& name, std::string_view family, std::vector<int> members);

  std::vector<plan::ScheduledGroup> groups_;
  std::map<std::string, std::vector<int>, std::less<>> names_;  ///< also "cp[1]"
  std::vector<std::map<int, int>> places_;                      ///< [group] place of a rank in it
  std::map<std::string, std::map<int, int>, std::less<>> own_;  ///< [name][rank] group
  std::size_t members_ = 0;
};

}  // namespace ringcomm::planner
