// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/group_join.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "diag/explain/identity.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

std::string index_key(int file, std::string_view who, std::string_view key) {
  return concat(file, '\n', who, '\n', key);
}

std::string hash_of(const std::vector<int>& ranks) {
  std::uint64_t hash = 1469598103934665603u;
  for (const int rank : ranks) hash = (hash ^ static_cast<std::uint32_t>(rank)) * 1099511628211u;
  return std::to_string(hash);
}

bool is_default(const GroupFact& fact) {
  return fact.description == "default_pg" || fact.name == "default_pg" || fact.name == "0";
}

class GroupJoin {
 public:
  GroupJoin(const HangEvidence& evidence, JobPicture& picture) : evidence_(evidence), picture_(picture) {}

  void run() {
    // Views that tell the members first: those that do not then find the group of that name.
    for (const GroupFact& fact : evidence_.groups) {
      if (!fact.unique_id.empty() || !fact.ranks.empty()) put(fact, exact_id(fact));
    }
    for (const GroupFact& fact : evidence_.groups) {
      if (fact.unique_id.empty() && fact.ranks.empty()) put(fact, loose_id(fact));
    }
  }

 private:
  std::string exact_id(const GroupFact& fact) {
    if (!fact.unique_id.empty()) return concat("unique/", fact.unique_id);
    return concat("list/", fact.name, '/', hash_of(fact.ranks));
  }

  std::string loose_id(const GroupFact& fact) {
    if (fact.name.empty() && fact.description.empty()) {
      // Pointers differ between processes: the k-th communicator of that size of each process is one.
      std::string per_process = concat(key_of(fact.who), '/', fact.size.value_or(kUnknown));
      auto& keys = of_process_[std::move(per_process)];
      const auto known = std::find(keys.begin(), keys.end(), fact.key);
      const auto ordinal = known - keys.begin();
      if (known == keys.end() && keys.size() < 64) keys.push_back(fact.key);
      return concat("size/", fact.size.value_or(kUnknown), '/', ordinal);
    }
    const auto named = by_name_.find(fact.name);
    if (named != by_name_.end() && named->second.size() <= 64) {
      std::string only;
      int fits = 0;
      for (const int at : named->second) {
        const GroupPicture& group = picture_.groups[static_cast<std::size_t>(at)];
        const std::vector<int>& ranks = list_of(group);
        if (fact.who.rank != kUnknown && std::find(ranks.begin(), ranks.end(), fact.who.rank) == ranks.end())
          continue;
        only = ids_[static_cast<std::size_t>(at)];
        ++fits;
      }
      if (fits == 1) return only;
    }
    return concat("name/", fact.name, '/', fact.description);
  }

  void put(const GroupFact& fact, const std::string& id) {
    const auto [at, is_new] = by_id_.try_emplace(id, static_cast<int>(picture_.groups.size()));
    if (is_new) {
      picture_.groups.emplace_back();
      ids_.push_back(id);
      if (!fact.ranks.empty()) by_name_[fact.name].push_back(at->second);
    }
    GroupPicture& group = picture_.groups[static_cast<std::size_t>(at->second)];
    group.views.push_back(&fact);
    // One that tells the members stands first: list_of() is asked for every fact.
    if (!fact.ranks.empty() && group.views.front()->ranks.empty())
      std::swap(group.views.front(), group.views.back());
    if (group.name.empty()) group.name = fact.name;
    if (group.description.empty()) group.description = fact.description;
    if (group.unique_id.empty()) group.unique_id = fact.unique_id;
    if (group.size == kUnknown)
      group.size = fact.ranks.empty() ? fact.size.value_or(kUnknown) : static_cast<int>(fact.ranks.size());
    picture_.group_index.insert_or_assign(index_key(fact.source.file, key_of(fact.who), fact.key),
                                          at->second);
    picture_.group_index.try_emplace(index_key(kUnknown, key_of(fact.who), fact.key), at->second);
    const auto [any, is_first] = picture_.group_of_any.try_emplace(fact.key, at->second);
    if (!is_first && any->second != at->second) any->second = kUnknown;
    const auto [here, is_here] =
        picture_.group_index.try_emplace(index_key(fact.source.file, "", fact.key), at->second);
    if (!is_here && here->second != at->second) here->second = kUnknown;
  }

  const HangEvidence& evidence_;
  JobPicture& picture_;
  std::map<std::string, int> by_id_;
  std::vector<std::string> ids_;
  std::map<std::string, std::vector<int>> by_name_;
  std::map<std::string, std::vector<std::string>> of_process_;
};

/// A gather's output is its input once for each member.
std::optional<int> size_by_gather(const HangEvidence& evidence) {
  std::optional<int> size;
  for (const OpFact& op : evidence.ops) {
    if (op.op != OpClass::all_gather || !op.elements_in || !op.elements_out || *op.elements_in <= 0) continue;
    const std::int64_t ratio = *op.elements_out / *op.elements_in;
    if (*op.elements_out % *op.elements_in != 0 || ratio < 2 || ratio > (1 << 16)) continue;
    if (size && *size != ratio) return std::nullopt;  // of several groups
    size = static_cast<int>(ratio);
  }
  return size;
}

std::optional<int> world_size_of(const HangEvidence& evidence, const JobPicture& picture) {
  if (evidence.world_size) return evidence.world_size;
  int size = kUnknown;
  int largest = kUnknown;
  for (const GroupPicture& group : picture.groups) {
    for (const GroupFact* view : group.views) {
      for (const int rank : view->ranks) largest = std::max(largest, rank);
    }
    if (list_of(group).empty() && group.size > size && group.size <= (1 << 16)) size = group.size;
  }
  if (largest != kUnknown && largest < (1 << 20)) size = std::max(size, largest + 1);
  if (size != kUnknown) return size;
  return size_by_gather(evidence);
}

std::string label_of(const GroupPicture& group, const std::optional<int>& world) {
  const std::vector<int>& ranks = list_of(group);
  if (group.name.empty() && group.description.empty()) {
    if (!group.unique_id.empty()) return concat("commId ", group.unique_id);
    return group.size == kUnknown ? std::string() : concat("communicator [nranks=", group.size, ']');
  }
  if (group.description.empty() || group.description == group.name) {
    if (!group.unique_id.empty() && group.unique_id != group.name)
      return concat(group.name, " (", group.unique_id, ')');
    const std::string& key = group.views.front()->key;
    return ranks.empty() && key.starts_with("PG ") ? key : group.name;
  }
  if (group.name.empty()) return group.description;
  const bool spans_job = ranks.empty() || (world && static_cast<int>(ranks.size()) >= *world);
  if (spans_job) return concat(group.name, ':', group.description);
  const bool is_range =
      std::adjacent_find(ranks.begin(), ranks.end(), [](int a, int b) { return b != a + 1; }) == ranks.end();
  std::string list;
  if (is_range) {
    list = concat(ranks.front(), "..", ranks.back());
  } else {
    for (std::size_t i = 0; i < ranks.size() && i < 8; ++i) list += concat(i == 0 ? "" : ", ", ranks[i]);
    if (ranks.size() > 8) list += ", ...";
  }
  return concat(group.description, " name ", group.name, " [", list, ']');
}

}  // namespace

const std::vector<int>& list_of(const GroupPicture& group) {
  static const std::vector<int> none;
  return group.views.empty() ? none : group.views.front()->ranks;
}

int JobPicture::group_of(const Who& who, const Source& source, std::string_view key) const {
  const std::string name = key_of(who);
  for (const std::string& one :
       {index_key(source.file, name, key), index_key(kUnknown, name, key), index_key(source.file, "", key)}) {
    const auto at = group_index.find(one);
    if (at != group_index.end() && at->second != kUnknown) return at->second;
  }
  const auto any = group_of_any.find(std::string(key));
  return any == group_of_any.end() ? kUnknown : any->second;
}

void join_groups(const HangEvidence& evidence, JobPicture& picture) {
  GroupJoin(evidence, picture).run();
  picture.world_size = world_size_of(evidence, picture);
  for (GroupPicture& group : picture.groups) {
    group.label = label_of(group, picture.world_size);
    group.spans_job =
        (picture.world_size && group.size == *picture.world_size) ||
        (list_of(group).empty() && std::any_of(group.views.begin(), group.views.end(),
                                               [](const GroupFact* view) { return is_default(*view); }));
    if (group.size == kUnknown && group.spans_job && picture.world_size) group.size = *picture.world_size;
  }
}

}  // namespace ringcomm::inline v0::diag
