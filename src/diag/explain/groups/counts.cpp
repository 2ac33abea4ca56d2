// SPDX-License-Identifier: Apache-2.0
// What RAS counts: launches of five functions, not completions and not messages. Two snapshots tell a job
// that runs from one that hangs; one snapshot alone does not.
#include <algorithm>
#include <map>

#include "diag/explain/groups/rules.hpp"
#include "diag/explain/groups/texts.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// One function in one group: how often each rank launched it, by snapshot.
struct Function {
  std::map<int, std::map<int, std::int64_t>> ranks;  ///< snapshot -> rank -> launches
  const CounterFact* first = nullptr;
  const CounterFact* last = nullptr;
};
using Functions = std::map<std::pair<int, std::string>, Function>;

Functions functions_of(const HangEvidence& evidence, const JobPicture& picture) {
  Functions functions;
  for (const CounterFact& fact : evidence.counters) {
    if (fact.launches.empty()) continue;
    const int group = picture.group_of(fact.who, fact.source, fact.group);
    int rank = picture.find(fact.who, fact.group);
    // A rank of a group that does not span the job: kept apart from ranks of the job.
    if (rank == kUnknown) rank = -2 - std::max(fact.who.group_rank, 0);
    if (group == kUnknown) continue;
    for (const auto& [name, launches] : fact.launches) {
      Function& function = functions[{group, name}];
      function.ranks[fact.snapshot][rank] = launches;
      if (function.first == nullptr) function.first = &fact;
      function.last = &fact;
    }
  }
  return functions;
}

std::int64_t highest(const std::map<int, std::int64_t>& ranks) {
  std::int64_t best = ranks.begin()->second;
  for (const auto& [rank, launches] : ranks) best = std::max(best, launches);
  return best;
}

bool is_even(const std::map<int, std::int64_t>& ranks) {
  return std::all_of(ranks.begin(), ranks.end(),
                     [&ranks](const auto& one) { return one.second == ranks.begin()->second; });
}

void tell_running(const HangEvidence& evidence, const JobPicture& picture, int group, const std::string& name,
                  const Function& function, std::vector<Candidate>& out) {
  const auto& before = function.ranks.begin()->second;
  const auto& after = function.ranks.rbegin()->second;
  Candidate& candidate = out.emplace_back();
  candidate.weight = Weight::strong;
  candidate.rule = "snapshots_move";
  Verdict& verdict = candidate.verdict;
  verdict.kind = FaultKind::none;
  verdict.grade = Grade::certain;
  verdict.group = picture.groups[static_cast<std::size_t>(group)].label;
  verdict.op = name;
  verdict.title = concat("The job runs: ", name, " of ", verdict.group, " went from ", highest(before),
                         " to ", highest(after), " launches between the snapshots");
  verdict.why.emplace_back(
      "Ranks that lag by a call or two change from snapshot to snapshot: the query was overtaken by the "
      "work.");
  for (const CounterFact* fact : {function.first, function.last})
    verdict.evidence.push_back(
        quote_of(evidence, fact->source, concat(name, " ", fact->launches.at(name), " launches")));
  verdict.counter_check = "A hang would show equal counts in both snapshots.";
}

/// The rank with fewer launches in snapshots that stand still, or in one beside a timeout.
void tell_fewer(const HangEvidence& evidence, const JobPicture& picture, int group, const std::string& name,
                const Function& function, bool is_hang, std::vector<Candidate>& out) {
  const auto& ranks = function.ranks.rbegin()->second;
  const std::int64_t top = highest(ranks);
  std::vector<int> fewer, rest;
  for (const auto& [rank, launches] : ranks) (launches < top ? fewer : rest).push_back(rank);
  const bool is_known = std::all_of(fewer.begin(), fewer.end(), [](int rank) { return rank >= 0; });
  Candidate& candidate = out.emplace_back();
  candidate.weight = is_hang ? Weight::ordinary : Weight::weak;
  candidate.rule = "launch_counts";
  Verdict& verdict = candidate.verdict;
  verdict.kind = is_hang ? FaultKind::rank_not_entered : FaultKind::insufficient_evidence;
  verdict.grade = is_hang ? Grade::likely : Grade::cannot_tell;
  verdict.group = picture.groups[static_cast<std::size_t>(group)].label;
  verdict.op = name;
  if (is_known) (is_hang ? verdict.culprits : verdict.suspects) = labels_of(picture, fewer);
  verdict.victims = labels_of(picture, rest);
  verdict.title = concat(ranks_text(labels_of(picture, fewer)), " launched fewer ", name, " on ",
                         verdict.group, " than the others (up to ", top, ")");
  verdict.why.emplace_back(
      is_hang ? "The counts stand still, and these ranks have not made the call that the others wait in."
              : "One snapshot does not tell a hang from a query that the work overtook.");
  verdict.evidence.push_back(quote_of(evidence, function.last->source, concat(name, " counts differ")));
  verdict.counter_check =
      "The listed set is the smaller one, which may as well be ahead: the lower count decides.";
}

bool has_timeout(const HangEvidence& evidence) {
  return std::any_of(evidence.events.begin(), evidence.events.end(),
                     [](const EventFact& event) { return event.kind == EventKind::timeout; });
}

/// Every rank has a dump, nothing is open, nothing failed.
void tell_idle(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out) {
  if (picture.ranks.empty() || !evidence.events.empty()) return;
  for (const RankPicture& rank : picture.ranks) {
    if (!rank.has_dump) return;
  }
  std::optional<bool> is_even_everywhere;
  for (const GroupPicture& group : picture.groups) {
    std::optional<std::int64_t> count;
    for (const MemberPicture& member : group.members) {
      if (!member.open.empty()) return;
      if (member.enqueued && member.completed && *member.completed < *member.enqueued) return;
      if (group.has_p2p || !member.completed) continue;
      if (count && *count != *member.completed) return;
      count = member.completed;
      is_even_everywhere = true;
    }
  }
  if (!is_even_everywhere) return;
  Candidate& candidate = out.emplace_back();
  candidate.weight = Weight::weak;
  candidate.rule = "nothing_open";
  Verdict& verdict = candidate.verdict;
  verdict.kind = FaultKind::none;
  verdict.grade = Grade::likely;
  verdict.title = "No rank has a call open and all counts agree: nothing hangs in these groups";
  verdict.why.emplace_back(
      "Every rank has a record, and in every group all calls that were made are complete.");
}

}  // namespace

void counts_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out) {
  const Functions functions = functions_of(evidence, picture);
  const std::pair<const std::pair<int, std::string>, Function>* moving = nullptr;
  const std::pair<const std::pair<int, std::string>, Function>* uneven = nullptr;
  bool has_two = false;
  for (const auto& one : functions) {
    const auto& snapshots = one.second.ranks;
    has_two = has_two || snapshots.size() > 1;
    if (snapshots.size() > 1 && highest(snapshots.rbegin()->second) > highest(snapshots.begin()->second) &&
        moving == nullptr)
      moving = &one;
    if (!is_even(snapshots.rbegin()->second) && uneven == nullptr) uneven = &one;
  }
  if (moving != nullptr) {
    tell_running(evidence, picture, moving->first.first, moving->first.second, moving->second, out);
  } else if (uneven != nullptr) {
    tell_fewer(evidence, picture, uneven->first.first, uneven->first.second, uneven->second,
               has_two || has_timeout(evidence), out);
  }
  tell_idle(evidence, picture, out);
}

}  // namespace ringcomm::inline v0::diag
