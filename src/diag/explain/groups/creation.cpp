// SPDX-License-Identifier: Apache-2.0
// Groups that ranks made differently: one name, members that overlap, other lists.
#include <algorithm>
#include <map>

#include "diag/explain/group_join.hpp"
#include "diag/explain/groups/rules.hpp"
#include "diag/explain/groups/texts.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

std::vector<int> viewers(const JobPicture& picture, const GroupPicture& group) {
  std::vector<int> ranks;
  for (const GroupFact* view : group.views) {
    const int rank = picture.find(view->who, view->key);
    if (rank != kUnknown) ranks.push_back(rank);
  }
  return ranks;
}

std::string list_text(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size() && i < 16; ++i) text += concat(i == 0 ? "" : ", ", ranks[i]);
  return concat('[', text, ranks.size() > 16 ? ", ...]" : "]");
}

std::vector<int> sorted_list(const GroupPicture& group) {
  std::vector<int> ranks = list_of(group);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

/// Of sorted lists.
bool overlap(const std::vector<int>& a, const std::vector<int>& b) {
  auto one = a.begin();
  auto other = b.begin();
  while (one != a.end() && other != b.end()) {
    if (*one == *other) return true;
    *one < *other ? ++one : ++other;
  }
  return false;
}

void tell(const HangEvidence& evidence, const JobPicture& picture,
          const std::vector<const GroupPicture*>& groups, std::vector<Candidate>& out) {
  Candidate& candidate = out.emplace_back();
  candidate.weight = Weight::ordinary;
  candidate.rule = "creation";
  Verdict& verdict = candidate.verdict;
  verdict.kind = FaultKind::plan_mismatch;
  verdict.group = groups.front()->name;
  std::size_t all = 0;
  const GroupPicture* largest = groups.front();
  for (const GroupPicture* group : groups) {
    all += viewers(picture, *group).size();
    if (viewers(picture, *group).size() > viewers(picture, *largest).size()) largest = group;
  }
  const bool has_majority = viewers(picture, *largest).size() * 2 > all;
  std::vector<int> odd, rest;
  for (const GroupPicture* group : groups) {
    const std::vector<int> seen = viewers(picture, *group);
    auto& side = group == largest && has_majority ? rest : odd;
    side.insert(side.end(), seen.begin(), seen.end());
    verdict.why.push_back(
        concat(ranks_text(labels_of(picture, seen)), ": members ", list_text(list_of(*group)), '.'));
    verdict.evidence.push_back(quote_of(evidence, group->views.front()->source,
                                        concat(group->name, " of ", list_text(list_of(*group)))));
  }
  (has_majority ? verdict.culprits : verdict.suspects) = labels_of(picture, odd);
  verdict.victims = labels_of(picture, rest);
  verdict.grade = Grade::likely;
  verdict.title =
      concat("Group ", groups.front()->name, " has other members on ", ranks_text(labels_of(picture, odd)));
  verdict.counter_check =
      "Groups of one name with members of their own each would be a split; these overlap.";
}

/// Views of one communicator that name other members: its ranks disagree about who is in it.
void tell_views(const HangEvidence& evidence, const JobPicture& picture, const GroupPicture& group,
                std::vector<Candidate>& out) {
  std::map<std::string, std::vector<const GroupFact*>> lists;
  for (const GroupFact* view : group.views) {
    if (view->ranks.empty() && !view->size) continue;
    lists[view->ranks.empty() ? concat("size ", *view->size) : list_text(view->ranks)].push_back(view);
  }
  if (lists.size() < 2 || lists.size() > 64) return;
  std::size_t all = 0;
  const auto* largest = &*lists.begin();
  for (const auto& one : lists) {
    all += one.second.size();
    if (one.second.size() > largest->second.size()) largest = &one;
  }
  const bool has_majority = largest->second.size() * 2 > all;
  Candidate& candidate = out.emplace_back();
  candidate.weight = Weight::strong;
  candidate.rule = "views";
  Verdict& verdict = candidate.verdict;
  verdict.kind = FaultKind::plan_mismatch;
  verdict.grade = has_majority ? Grade::likely : Grade::certain;
  verdict.group = group.label;
  std::vector<int> odd, rest;
  for (const auto& one : lists) {
    std::vector<int> ranks;
    for (const GroupFact* view : one.second) ranks.push_back(picture.find(view->who, view->key));
    auto& side = &one == largest && has_majority ? rest : odd;
    side.insert(side.end(), ranks.begin(), ranks.end());
    verdict.why.push_back(concat(ranks_text(labels_of(picture, ranks)), ": members ", one.first, '.'));
    verdict.evidence.push_back(quote_of(evidence, one.second.front()->source, concat("members ", one.first)));
  }
  (has_majority ? verdict.culprits : verdict.suspects) = labels_of(picture, odd);
  verdict.victims = labels_of(picture, rest);
  verdict.title =
      concat("The ranks of ", group.label,
             " disagree about its members: ", ranks_text(labels_of(picture, odd)), " has another list");
  verdict.counter_check =
      "A group that was split would have identifiers of its own; this is one communicator.";
}

}  // namespace

void creation_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out) {
  std::map<std::string, std::vector<const GroupPicture*>> by_name;
  for (const GroupPicture& group : picture.groups) {
    if (!group.name.empty() && !list_of(group).empty() && group.unique_id.empty())
      by_name[group.name].push_back(&group);
  }
  for (const GroupPicture& group : picture.groups) {
    if (!group.unique_id.empty()) tell_views(evidence, picture, group, out);
  }
  for (const auto& [name, groups] : by_name) {
    if (groups.size() < 2 || groups.size() > 64) continue;
    std::vector<std::vector<int>> lists;
    for (const GroupPicture* group : groups) lists.push_back(sorted_list(*group));
    std::vector<const GroupPicture*> crossed;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const bool crosses =
          std::any_of(lists.begin(), lists.end(), [&lists, i](const std::vector<int>& other) {
            return &other != &lists[i] && overlap(lists[i], other);
          });
      if (crosses) crossed.push_back(groups[i]);
    }
    if (crossed.size() > 1) tell(evidence, picture, crossed, out);
  }
}

}  // namespace ringcomm::inline v0::diag
