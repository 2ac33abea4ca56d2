// SPDX-License-Identifier: Apache-2.0
#include "call_groups.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::planner {
namespace {

using nlohmann::json;

Result<std::vector<int>> ranks_in(const json& value, const std::string& name) {
  std::vector<int> ranks;
  for (const json& item : value) {
    const bool is_rank = item.is_number_integer() && item >= 0 && item < plan::kScheduleRanksMax;
    if (!is_rank)
      return Status::corrupt_data(concat("group ", name, ": ", item.dump().substr(0, 40), " is not a rank"));
    ranks.push_back(item.get<int>());
  }
  return ranks;
}

}  // namespace

Result<CallGroups> CallGroups::read(const json& object, std::size_t ranks) {
  CallGroups groups;
  if (const auto grid = object.find("grid"); grid != object.end())
    RINGCOMM_TRY(groups.add_grid(*grid, ranks));
  const auto listed = object.find("groups");
  if (listed == object.end()) return groups;
  if (!listed->is_object()) return Status::corrupt_data("\"groups\" is not an object");
  for (const auto& [name, value] : listed->items()) RINGCOMM_TRY(groups.add(name, value));
  return groups;
}

const std::vector<int>& CallGroups::named(std::string_view name) const {
  static const std::vector<int> none;
  const auto found = names_.find(name);
  return found == names_.end() ? none : found->second;
}

int CallGroups::of_rank(std::string_view name, int rank) const {
  const auto family = own_.find(name);
  if (family == own_.end()) return -1;
  const auto found = family->second.find(rank);
  return found == family->second.end() ? -1 : found->second;
}

int CallGroups::neighbour(int group, int rank, std::int64_t distance) const {
  const auto& places = places_[static_cast<std::size_t>(group)];
  const auto found = places.find(rank);
  if (found == places.end()) return -1;
  const auto& members = groups_[static_cast<std::size_t>(group)].members;
  const auto size = static_cast<std::int64_t>(members.size());
  const std::int64_t place = ((found->second + distance % size) % size + size) % size;
  return members[static_cast<std::size_t>(place)];
}

std::string CallGroups::nearest(std::string_view name) const {
  constexpr std::size_t kCompared = 64;
  std::vector<std::string> known;
  for (const auto& [word, groups] : names_) {
    if (known.size() < kCompared) known.push_back(word);
  }
  return nearest_word(name, known);
}

Status CallGroups::add_grid(const json& grid, std::size_t ranks) {
  if (!grid.is_array()) return Status::corrupt_data("\"grid\" is not a list like [[\"tp\", 2], [\"cp\", 4]]");
  std::size_t product = 1;
  for (const json& axis : grid) {
    const bool is_axis = axis.is_array() && axis.size() == 2 && axis[0].is_string() &&
                         axis[1].is_number_integer() && axis[1] >= 1 && axis[1] <= plan::kScheduleRanksMax;
    if (!is_axis)
      return Status::corrupt_data(
          concat("\"grid\": ", axis.dump().substr(0, 40), " is no axis like [\"tp\", 2]"));
    product *= axis[1].get<std::size_t>();
    if (product > plan::kScheduleRanksMax) break;
  }
  if (product != ranks)
    return Status::corrupt_data(concat("\"grid\" has ", product, " places for ", ranks, " ranks"));
  std::size_t stride = 1;
  for (const json& axis : grid) {
    const auto size = axis[1].get<std::size_t>();
    const auto name = axis[0].get<std::string>();
    const bool is_family = size < ranks;
    for (std::size_t first = 0, number = 0; first < ranks; ++first) {
      if (first / stride % size != 0) continue;
      std::vector<int> members;
      for (std::size_t i = 0; i < size; ++i) members.push_back(static_cast<int>(first + i * stride));
      RINGCOMM_TRY(add_group(is_family ? concat(name, "[", number++, "]") : name, is_family ? name : "",
                             std::move(members)));
    }
    stride *= size;
  }
  return {};
}

Status CallGroups::add(const std::string& name, const json& value) {
  if (value.is_array()) return add_members(name, value);
  if (!value.is_object())
    return Status::corrupt_data(concat("group ", name, " is neither a list nor an object"));
  for (const auto& [key, ignored] : value.items()) {
    if (key != "members" && key != "slots" && key != "made_by")
      return Status::corrupt_data(
          concat("group ", name, ": unknown key \"", key, "\"; members, slots and made_by are known"));
  }
  if (const auto members = value.find("members"); members != value.end())
    RINGCOMM_TRY(add_members(name, *members));
  if (named(name).empty())
    return Status::corrupt_data(concat("group ", name, " has no members, and no grid has it"));
  for (const int index : named(name)) {
    plan::ScheduledGroup& group = groups_[static_cast<std::size_t>(index)];
    if (const auto slots = value.find("slots"); slots != value.end()) {
      if (!slots->is_number_integer() || *slots < 0 || *slots > plan::kScheduleCallsMax)
        return Status::corrupt_data(concat("group ", name, ": slots is not a number from 0"));
      group.slots = slots->get<int>();
    }
    if (const auto made_by = value.find("made_by"); made_by != value.end()) {
      if (*made_by != "all" && *made_by != "members")
        return Status::corrupt_data(concat("group ", name, ": made_by is neither \"all\" nor \"members\""));
      group.is_made_by_members = *made_by == "members";
    }
  }
  return {};
}

Status CallGroups::add_members(const std::string& name, const json& members) {
  if (!members.is_array() || members.empty())
    return Status::corrupt_data(concat("group ", name, ": members is not a list of ranks"));
  if (!members[0].is_array()) {
    RINGCOMM_TRY_ASSIGN(std::vector<int> ranks, ranks_in(members, name));
    return add_group(name, "", std::move(ranks));
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    const std::string own_name = concat(name, "[", i, "]");
    if (!members[i].is_array())
      return Status::corrupt_data(concat("group ", own_name, " is not a list of ranks"));
    RINGCOMM_TRY_ASSIGN(std::vector<int> ranks, ranks_in(members[i], own_name));
    RINGCOMM_TRY(add_group(own_name, name, std::move(ranks)));
  }
  return {};
}

Status CallGroups::add_group(const std::string& name, std::string_view family, std::vector<int> members) {
  const auto index = static_cast<int>(groups_.size());
  members_ += members.size();
  if (members_ > plan::kScheduleMembersMax)
    return Status::corrupt_data(
        concat("groups have more than ", plan::kScheduleMembersMax, " members together"));
  if (!names_.try_emplace(name, std::vector<int>{index}).second)
    return Status::corrupt_data(concat("group ", name, " is there twice"));
  auto& places = places_.emplace_back();
  for (std::size_t i = 0; i < members.size(); ++i) places.try_emplace(members[i], static_cast<int>(i));
  for (const int rank : members) own_[name].try_emplace(rank, index);
  if (!family.empty()) {
    names_[std::string(family)].push_back(index);
    for (const int rank : members) {
      if (!own_[std::string(family)].try_emplace(rank, index).second)
        return Status::corrupt_data(concat("rank ", rank, " is in two groups of ", family));
    }
  }
  groups_.push_back({.name = name, .members = std::move(members), .slots = 0, .is_made_by_members = false});
  return {};
}

}  // namespace ringcomm::planner
