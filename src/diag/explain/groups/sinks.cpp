// SPDX-License-Identifier: Apache-2.0
// Ranks that are waited for and wait for nobody: they did not make the call, or their device stopped.
#include <algorithm>
#include <set>
#include <utility>

#include "diag/explain/groups/rules.hpp"
#include "diag/explain/groups/texts.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

struct Culprits {
  std::vector<int> lagging, missing;
  std::vector<int> all() const {
    std::vector<int> both(lagging);
    both.insert(both.end(), missing.begin(), missing.end());
    std::sort(both.begin(), both.end());
    return both;
  }
};

Culprits culprits_of(const WaitGraph& graph) {
  std::set<int> missing, lagging;
  for (const WaitSet& set : graph.sets) {
    if (set.waiters.empty()) continue;
    for (const WaitTarget& target : set.targets) {
      if (target.rank == kUnknown || target.state == TargetState::unknown) continue;
      const RankWait& wait = graph.ranks[static_cast<std::size_t>(target.rank)];
      if (wait.set != kUnknown) continue;
      if (wait.is_lagging) {
        lagging.insert(target.rank);
      } else if (target.state == TargetState::missing && wait.heads.empty()) {
        missing.insert(target.rank);
      }
    }
  }
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    if (graph.ranks[r].is_lagging_everywhere) lagging.insert(static_cast<int>(r));
  }
  return {{lagging.begin(), lagging.end()}, {missing.begin(), missing.end()}};
}

/// The calls that the culprits hold, fewest groups first: one that covers all of them if there is one.
struct Place {
  std::vector<int> groups;
  const OpFact* op = nullptr;
  std::optional<std::int64_t> seq;
  bool is_one_seq = true;
};

void add(Place& place, int group, const OpFact* op, const std::optional<std::int64_t>& seq) {
  if (std::find(place.groups.begin(), place.groups.end(), group) == place.groups.end())
    place.groups.push_back(group);
  if (place.op == nullptr) place.op = op;
  if (place.groups.size() == 1 && !place.seq) place.seq = seq;
  if (place.seq != seq) place.is_one_seq = false;
}

/// Of ranks that never called: where the others wait for them.
Place where_missing(const WaitGraph& graph, const std::vector<int>& culprits) {
  std::vector<std::pair<std::vector<int>, const WaitSet*>> covers;
  for (const WaitSet& set : graph.sets) {
    if (set.waiters.empty()) continue;
    std::vector<int> covered;
    for (const WaitTarget& target : set.targets) {
      if (std::binary_search(culprits.begin(), culprits.end(), target.rank)) covered.push_back(target.rank);
    }
    if (!covered.empty()) covers.emplace_back(std::move(covered), &set);
  }
  std::stable_sort(covers.begin(), covers.end(), [](const auto& a, const auto& b) {
    if (a.first.size() != b.first.size()) return a.first.size() > b.first.size();
    if (a.second->is_p2p != b.second->is_p2p) return b.second->is_p2p;
    return a.second->waiters.size() > b.second->waiters.size();
  });
  Place place;
  std::set<int> left(culprits.begin(), culprits.end());
  for (const auto& [covered, set] : covers) {
    bool is_new = false;
    for (const int rank : covered) is_new = left.erase(rank) != 0 || is_new;
    if (is_new) add(place, set->group, set->op, set->seq);
    if (left.empty()) break;
  }
  std::sort(place.groups.begin(), place.groups.end());
  return place;
}

/// Of ranks whose device stopped: their own oldest call in a group that all of them are in.
Place where_lagging(const JobPicture& picture, const WaitGraph& graph, const std::vector<int>& culprits) {
  Place place;
  const auto& heads = graph.ranks[static_cast<std::size_t>(culprits.front())].heads;
  const auto has_all = [&](const Head& head) {
    const GroupPicture& group = picture.groups[static_cast<std::size_t>(head.group)];
    if (group.has_p2p) return false;
    return std::all_of(culprits.begin(), culprits.end(),
                       [&](int rank) { return group.member_of(rank) != kUnknown; });
  };
  const auto shared = std::find_if(heads.begin(), heads.end(), has_all);
  if (shared != heads.end()) {
    add(place, shared->group, shared->op, shared->seq);
    return place;
  }
  for (const int rank : culprits) {
    const auto& own = graph.ranks[static_cast<std::size_t>(rank)].heads;
    if (!own.empty()) add(place, own.front().group, own.front().op, own.front().seq);
  }
  return place;
}

std::string count_text(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "unknown";
}

void tell_counts(const HangEvidence& evidence, const JobPicture& picture, const WaitGraph& graph,
                 const Place& place, const std::vector<int>& culprits, Verdict& verdict) {
  for (const int group : place.groups) {
    const GroupPicture& in = picture.groups[static_cast<std::size_t>(group)];
    std::optional<std::int64_t> enqueued, completed;
    for (const MemberPicture& member : in.members) {
      if (std::binary_search(culprits.begin(), culprits.end(), member.rank)) continue;
      if (member.enqueued && (!enqueued || *enqueued < *member.enqueued)) enqueued = member.enqueued;
      if (member.completed && (!completed || *completed < *member.completed)) completed = member.completed;
    }
    for (const int rank : culprits) {
      const int at = in.member_of(rank);
      if (at == kUnknown || verdict.why.size() > 12) continue;
      const MemberPicture& member = in.members[static_cast<std::size_t>(at)];
      verdict.why.push_back(
          concat("In ", in.label, " rank ", picture.ranks[static_cast<std::size_t>(rank)].label,
                 " has enqueued ", count_text(member.enqueued), " and completed ",
                 count_text(member.completed), "; its peers have enqueued up to ", count_text(enqueued),
                 " and completed up to ", count_text(completed), "."));
      quote_counters(evidence, picture, rank, group, verdict);
      const RankWait& wait = graph.ranks[static_cast<std::size_t>(rank)];
      if (!wait.heads.empty() && wait.heads.front().op != nullptr && verdict.evidence.size() < 12)
        verdict.evidence.push_back(quote_of(evidence, *wait.heads.front().op, "open on this rank"));
    }
  }
  if (place.op != nullptr) verdict.evidence.push_back(quote_of(evidence, *place.op, "what is stuck"));
}

Candidate sink_candidate(const HangEvidence& evidence, const JobPicture& picture, const WaitGraph& graph,
                         const Culprits& found) {
  const std::vector<int> culprits = found.all();
  const bool is_device = !found.lagging.empty();
  const Place place =
      is_device ? where_lagging(picture, graph, found.lagging) : where_missing(graph, culprits);
  Candidate candidate;
  candidate.weight = Weight::strong;
  candidate.rule = is_device ? "completed_lag" : "enqueued_gap";
  Verdict& verdict = candidate.verdict;
  verdict.kind = is_device ? FaultKind::gpu_fault : FaultKind::rank_not_entered;
  verdict.culprits = labels_of(picture, culprits);
  verdict.victims = labels_of(picture, graph.waiting_for(culprits));
  verdict.group = groups_text(picture, place.groups);
  if (place.op != nullptr) verdict.op = op_text(*place.op);
  if (place.is_one_seq && place.seq)
    verdict.seq = place.op != nullptr ? seq_text(*place.op) : std::to_string(*place.seq);
  const bool is_certain = std::all_of(culprits.begin(), culprits.end(), [&](int rank) {
    return picture.ranks[static_cast<std::size_t>(rank)].has_dump;
  });
  verdict.grade = !is_device && is_certain ? Grade::certain : Grade::likely;
  const std::string who = ranks_text(verdict.culprits);
  const std::string call =
      concat(verdict.op.empty() ? "call" : verdict.op, verdict.seq.empty() ? "" : " ", verdict.seq);
  verdict.title = is_device
                      ? concat("The GPU of ", who, " stopped completing work: ", call, " of ", verdict.group,
                               " is open there, and its peers saw later calls finish")
                      : concat(who, " did not make the call ", call, " that ", verdict.group, " waits for");
  tell_counts(evidence, picture, graph, place, culprits, verdict);
  if (is_device) {
    verdict.why.emplace_back(
        "A collective cannot finish on a peer without the data of every member: the work was posted, and the "
        "device "
        "(or the query of its events) then stopped.");
    verdict.counter_check =
        "A host that stopped would have no open calls that its peers saw finish; these ranks have.";
  } else {
    verdict.why.push_back(concat(who, culprits.size() == 1
                                          ? " waits for nobody: no call of it is open in any group."
                                          : " wait for nobody: no call of theirs is open in any group."));
    verdict.counter_check = "A stuck device would show open calls on these ranks; there are none.";
  }
  add_edges(picture, graph, verdict);
  return candidate;
}

}  // namespace

std::string groups_text(const JobPicture& picture, const std::vector<int>& groups) {
  if (groups.empty()) return {};
  const GroupPicture& first = picture.groups[static_cast<std::size_t>(groups.front())];
  if (groups.size() == 1) return first.label;
  const std::string prefix = concat(first.description, " name ");
  bool is_same = true;
  for (const int group : groups) {
    is_same = is_same && picture.groups[static_cast<std::size_t>(group)].label.starts_with(prefix);
  }
  std::string text = is_same ? concat(first.description, " names ") : "";
  for (std::size_t i = 0; i < groups.size() && i < 8; ++i) {
    const std::string& label = picture.groups[static_cast<std::size_t>(groups[i])].label;
    text += concat(i == 0 ? "" : " and ", is_same ? label.substr(prefix.size()) : label);
  }
  return text;
}

void quote_counters(const HangEvidence& evidence, const JobPicture& picture, int rank, int group,
                    Verdict& verdict) {
  if (verdict.evidence.size() >= 12) return;
  for (const CounterFact& fact : evidence.counters) {
    if (picture.find(fact.who, fact.group) != rank ||
        picture.group_of(fact.who, fact.source, fact.group) != group)
      continue;
    verdict.evidence.push_back(quote_of(
        evidence, fact.source,
        concat("last enqueued ", count_text(fact.enqueued), ", last completed ", count_text(fact.completed)),
        concat("rank ", picture.ranks[static_cast<std::size_t>(rank)].label)));
    return;
  }
}

void add_edges(const JobPicture& picture, const WaitGraph& graph, Verdict& verdict) {
  for (const WaitSet& set : graph.sets) {
    for (const int waiter : set.waiters) {
      for (const WaitTarget& target : set.targets) {
        if (verdict.graph.size() == 256) return;
        if (target.rank == kUnknown) continue;
        verdict.graph.push_back({picture.ranks[static_cast<std::size_t>(waiter)].label,
                                 picture.ranks[static_cast<std::size_t>(target.rank)].label,
                                 picture.groups[static_cast<std::size_t>(set.group)].label,
                                 set.op != nullptr ? op_text(*set.op) : std::string()});
      }
    }
  }
}

bool explain_sinks(const HangEvidence& evidence, const JobPicture& picture, const WaitGraph& graph,
                   std::vector<Candidate>& out) {
  const Culprits found = culprits_of(graph);
  if (found.lagging.empty() && found.missing.empty()) return false;
  if (found.lagging.empty() && explain_p2p_sinks(evidence, picture, graph, found.missing, out)) return true;
  out.push_back(sink_candidate(evidence, picture, graph, found));
  return true;
}

}  // namespace ringcomm::inline v0::diag
