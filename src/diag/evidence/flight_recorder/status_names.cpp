// SPDX-License-Identifier: Apache-2.0
// pg_status is keyed by a number that is local to the rank; only entries say which group it is. Groups
// without an entry are joined by order (names that are numbers grow with the ids: both count group
// creations), and by elimination.
#include <algorithm>
#include <set>
#include <utility>

#include "diag/evidence/flight_recorder/dump.hpp"

namespace ringcomm::inline v0::diag::flight_recorder {
namespace {

using Names = std::map<std::string, std::string>;
struct Numbered {
  std::int64_t number;
  std::string text;
};

/// Sorted by number; empty when one of them is no number.
template <class Map>
std::vector<Numbered> numbered_keys(const Map& map) {
  std::vector<Numbered> keys;
  for (const auto& entry : map) {
    const auto number = integer_of(entry.first);
    if (!number) return {};
    keys.push_back({*number, entry.first});
  }
  std::ranges::sort(keys, {}, &Numbered::number);
  return keys;
}

Names from_entries(const Dump& dump) {
  Names names;
  for (const Entry& entry : dump.entries) {
    if (!entry.pg_id || entry.op.group.empty()) continue;
    std::string id = std::to_string(*entry.pg_id);
    if (dump.status.contains(id)) names.try_emplace(std::move(id), entry.op.group);
  }
  return names;
}

/// The first group of a process is the default one, whatever it is called.
void add_default(const Dump& dump, Names& names) {
  if (!dump.status.contains("0") || names.contains("0")) return;
  for (const auto& [key, group] : dump.groups) {
    if (group.description == "default_pg") names.emplace("0", key);
  }
}

/// Between two joined pairs, in the order of both, as many ids as names: they belong together one by one.
void add_by_order(const Dump& dump, Names& names) {
  const std::vector<Numbered> ids = numbered_keys(dump.status);
  const std::vector<Numbered> groups = numbered_keys(dump.groups);
  if (ids.empty() || groups.empty()) return;
  struct Range {
    std::size_t id, group;
  };
  std::vector<Range> joined;
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < groups.size(); ++i) index.emplace(groups[i].text, i);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto name = names.find(ids[i].text);
    if (name == names.end()) continue;
    const auto at = index.find(name->second);
    if (at == index.end()) continue;
    // The order does not hold in this dump: nothing may be concluded from it.
    if (!joined.empty() && at->second <= joined.back().group) return;
    joined.push_back({i, at->second});
  }
  joined.push_back({ids.size(), groups.size()});
  Range from{0, 0};
  for (const Range to : joined) {
    if (to.id - from.id == to.group - from.group) {
      for (std::size_t i = from.id; i < to.id; ++i)
        names.try_emplace(ids[i].text, groups[from.group + i - from.id].text);
    }
    from = {to.id + 1, to.group + 1};
  }
}

/// One id and one name are left.
void add_last(const Dump& dump, Names& names) {
  std::set<std::string> taken;
  for (const auto& [id, name] : names) taken.insert(name);
  std::vector<std::string> ids;
  std::vector<std::string> groups;
  for (const auto& [id, status] : dump.status) {
    if (!names.contains(id)) ids.push_back(id);
  }
  for (const auto& [key, group] : dump.groups) {
    if (!taken.contains(key)) groups.push_back(key);
  }
  if (ids.size() == 1 && groups.size() == 1) names.emplace(ids[0], groups[0]);
}

}  // namespace

std::map<std::string, std::string> names_of_status(const Dump& dump) {
  Names names = from_entries(dump);
  add_default(dump, names);
  add_by_order(dump, names);
  add_last(dump, names);
  return names;
}

}  // namespace ringcomm::inline v0::diag::flight_recorder
