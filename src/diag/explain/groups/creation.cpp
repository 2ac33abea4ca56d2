// SPDX-License-Identifier: Apache-2.0
// Groups that ranks made differently: one name, members that overlap, other lists.
#include <algorithm>
#include <map>
#include <set>

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

bool overlap(const std::vector<int>& a, const std::vector<int>& b) {
  const std::set<int> in(a.begin(), a.end());
  return std::any_of(b.begin(), b.end(), [&in](int rank) { return in.count(rank) != 0; });
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

}  // namespace

void creation_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out) {
  std::map<std::string, std::vector<const GroupPicture*>> by_name;
  for (const GroupPicture& group : picture.groups) {
    if (!group.name.empty() && !list_of(group).empty() && group.unique_id.empty())
      by_name[group.name].push_back(&group);
  }
  for (const auto& [name, groups] : by_name) {
    if (groups.size() < 2 || groups.size() > 64) continue;
    std::vector<const GroupPicture*> crossed;
    for (const GroupPicture* group : groups) {
      const bool crosses = std::any_of(groups.begin(), groups.end(), [group](const GroupPicture* other) {
        return other != group && overlap(list_of(*group), list_of(*other));
      });
      if (crosses) crossed.push_back(group);
    }
    if (crossed.size() > 1) tell(evidence, picture, crossed, out);
  }
}

}  // namespace ringcomm::inline v0::diag
