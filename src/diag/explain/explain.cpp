// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/diag/explain.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <unordered_set>
#include <utility>

#include "diag/explain/groups/texts.hpp"
#include "diag/explain/picture.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::size_t kSentences = 16, kQuotes = 24, kRanksListed = 4096;

/// The heaviest first; of equals the one whose evidence is earliest, then the one found first.
void rank_candidates(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    if (a.weight != b.weight) return a.weight > b.weight;
    constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
    return a.time_ns.value_or(kNever) < b.time_ns.value_or(kNever);
  });
}

/// Of labels that are looked up often: a large job has thousands.
using LabelSet = std::unordered_set<std::string>;

LabelSet set_of(const std::vector<std::string>& labels) { return {labels.begin(), labels.end()}; }

bool shares(const LabelSet& a, const std::vector<std::string>& b) {
  return std::any_of(b.begin(), b.end(), [&a](const std::string& label) { return a.count(label) != 0; });
}

/// The other candidate tells of the same ranks, or of nobody in particular.
bool agrees(const LabelSet& culprits, const Verdict& other) {
  if (shares(culprits, other.culprits) || shares(culprits, other.suspects)) return true;
  return other.culprits.empty() || culprits.empty();
}

bool is_event_only(const Verdict& verdict) {
  return verdict.group.empty() && verdict.op.empty() && verdict.seq.empty();
}

template <class Item>
void append(std::vector<Item>& to, const std::vector<Item>& from, std::size_t limit) {
  for (const Item& item : from) {
    if (to.size() >= limit) return;
    to.push_back(item);
  }
}

/// What is stuck, who waits and the waits themselves, from a rule over groups, for an answer that only says
/// what happened to a rank.
void take_place(Verdict& best, const LabelSet& culprits, const Verdict& other) {
  if (is_event_only(best) && best.kind != FaultKind::none) {
    best.group = other.group;
    best.op = other.op;
    best.seq = other.seq;
  }
  if (best.graph.empty()) best.graph = other.graph;
  if (best.cycle.empty()) best.cycle = other.cycle;
  if (!best.victims.empty() || culprits.empty()) return;
  for (const std::vector<std::string>* labels : {&other.victims, &other.culprits}) {
    std::copy_if(labels->begin(), labels->end(), std::back_inserter(best.victims),
                 [&culprits](const std::string& label) { return culprits.count(label) == 0; });
  }
}

void merge_others(Candidate& best, const std::vector<Candidate>& others) {
  bool has_place = !is_event_only(best.verdict);
  const LabelSet culprits = set_of(best.verdict.culprits);
  for (const Candidate& other : others) {
    const bool is_same =
        other.verdict.kind == best.verdict.kind && other.verdict.culprits == best.verdict.culprits;
    if (is_same) {
      append(best.verdict.why, other.verdict.why, kSentences);
      append(best.verdict.evidence, other.verdict.evidence, kQuotes);
    }
    if (!agrees(culprits, other.verdict) || is_event_only(other.verdict)) continue;
    if (!has_place) append(best.verdict.evidence, other.verdict.evidence, kQuotes);
    take_place(best.verdict, culprits, other.verdict);
    has_place = true;
  }
  if (!best.verdict.counter_check.empty()) return;
  for (const Candidate& other : others) {
    if (other.verdict.kind == best.verdict.kind || other.verdict.title.empty()) continue;
    best.verdict.counter_check =
        concat("Another reading: ", other.verdict.title, ". It explains less of these lines.");
    return;
  }
}

/// Ranks named as culprits or suspects wait for nobody: they are no victims.
void clean(Verdict& verdict) {
  const LabelSet culprits = set_of(verdict.culprits);
  const auto is_named = [&culprits](const std::string& label) { return culprits.count(label) != 0; };
  std::erase_if(verdict.victims, is_named);
  std::erase_if(verdict.suspects, is_named);
  if (verdict.kind == FaultKind::insufficient_evidence) verdict.grade = Grade::cannot_tell;
}

void describe_job(const HangEvidence& evidence, const JobPicture& picture, Verdict& verdict) {
  verdict.world_size = picture.world_size;
  if (verdict.groups.empty()) describe_groups(picture, verdict);
  if (!verdict.ranks_without_evidence.empty()) return;
  for (const RankPicture& rank : picture.ranks) {
    if (!rank.has_evidence && rank.who.rank != kUnknown &&
        verdict.ranks_without_evidence.size() < kRanksListed)
      verdict.ranks_without_evidence.push_back(rank.label);
  }
  if (!verdict.title.empty()) return;
  verdict.title =
      evidence.files.empty() || (evidence.ops.empty() && evidence.events.empty() && evidence.counters.empty())
          ? "There is nothing in this evidence that tells of a hang"
          : concat(sentence_of(verdict.kind));
}

}  // namespace

Verdict explain(const HangEvidence& evidence) {
  const JobPicture picture = picture_of(evidence);
  std::vector<Candidate> candidates;
  for (const Rule rule : group_rules()) rule(evidence, picture, candidates);
  for (const Rule rule : event_rules()) rule(evidence, picture, candidates);
  rank_candidates(candidates);
  Verdict verdict;
  if (!candidates.empty()) {
    Candidate best = std::move(candidates.front());
    candidates.erase(candidates.begin());
    merge_others(best, candidates);
    verdict = std::move(best.verdict);
  }
  clean(verdict);
  describe_job(evidence, picture, verdict);
  if (verdict.fix.empty()) verdict.fix = fix_of(verdict.kind);
  if (verdict.collect.empty()) verdict.collect = collect_for(verdict.kind);
  return verdict;
}

}  // namespace ringcomm::inline v0::diag
