// SPDX-License-Identifier: Apache-2.0
// What only ringcomm's own records show: memory written again before its last reader was done, and who holds
// whom inside one operation.
#include <algorithm>
#include <map>
#include <tuple>

#include "diag/explain/groups/rules.hpp"
#include "diag/explain/groups/steps.hpp"
#include "diag/explain/groups/texts.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::int64_t kClockMarginNs = 1000;  // of clocks of one host, with what rounding of states adds

/// A write into a slot that a reader had not finished with.
struct Rewrite {
  int writer = kUnknown, reader = kUnknown;
  const StepFact* first = nullptr;   ///< what the reader was to get
  const StepFact* second = nullptr;  ///< what replaced it
  const StepFact* read = nullptr;
};

using MessageKey = std::tuple<int, int, std::int64_t, int>;  // writer, reader, seq, step

std::map<MessageKey, const StepFact*> reads_of(const JobPicture& picture, const GroupPicture& group) {
  std::map<MessageKey, const StepFact*> reads;
  for (const MemberPicture& member : group.members) {
    for (const StepFact* step : member.steps) {
      if (!step->is_incoming) continue;
      const auto writer = picture.index_of_rank.find(step->peer);
      if (writer != picture.index_of_rank.end())
        reads[{writer->second, member.rank, step->seq, step->step}] = step;
    }
  }
  return reads;
}

bool is_same_host(const JobPicture& picture, int a, int b) {
  return picture.ranks[static_cast<std::size_t>(a)].who.host ==
         picture.ranks[static_cast<std::size_t>(b)].who.host;
}

void find_rewrites(const JobPicture& picture, const GroupPicture& group, std::optional<Rewrite>& earliest) {
  const auto reads = reads_of(picture, group);
  for (const MemberPicture& member : group.members) {
    std::map<int, const StepFact*> in_slot;  // written last
    for (const StepFact* step : member.steps) {
      if (step->is_incoming || step->slot == kUnknown || step->epoch == 0) continue;
      const StepFact*& before = in_slot[step->slot];
      const StepFact* first = std::exchange(before, step);
      if (first == nullptr || first->epoch >= step->epoch) continue;
      const auto reader = picture.index_of_rank.find(first->peer);
      if (reader == picture.index_of_rank.end()) continue;
      const auto read = reads.find({member.rank, reader->second, first->seq, first->step});
      if (read == reads.end()) continue;
      const auto done = read->second->released_ns ? read->second->released_ns : read->second->computed_ns;
      const bool is_late = done && is_same_host(picture, member.rank, reader->second) &&
                           *done > step->posted_ns + kClockMarginNs;
      if (done && !is_late) continue;
      if (!earliest || step->posted_ns < earliest->second->posted_ns)
        earliest = Rewrite{member.rank, reader->second, first, step, read->second};
    }
  }
}

void tell_rewrite(const HangEvidence& evidence, const JobPicture& picture, const GroupPicture& group,
                  const Rewrite& rewrite, std::vector<Candidate>& out) {
  Candidate& candidate = out.emplace_back();
  candidate.weight = Weight::root;
  candidate.rule = "slot_reuse";
  candidate.time_ns = rewrite.second->posted_ns;
  Verdict& verdict = candidate.verdict;
  verdict.kind = FaultKind::slot_reuse;
  verdict.grade = Grade::certain;
  verdict.culprits = labels_of(picture, {rewrite.writer});
  verdict.victims = labels_of(picture, {rewrite.reader});
  verdict.group = group.label;
  verdict.op = name_of(rewrite.first->op);
  verdict.seq = std::to_string(rewrite.first->seq);
  const std::string& writer = verdict.culprits.front();
  const std::string& reader = verdict.victims.front();
  verdict.title = concat("Rank ", writer, " wrote slot ", rewrite.first->slot, " of ", group.label,
                         " again before rank ", reader, " had finished reading it");
  verdict.why.push_back(concat("Step ", rewrite.first->step, " of call ", rewrite.first->seq,
                               " put data into the slot (write ", rewrite.first->epoch, "); step ",
                               rewrite.second->step, " of call ", rewrite.second->seq, " replaced it (write ",
                               rewrite.second->epoch, ")."));
  const auto done = rewrite.read->released_ns ? rewrite.read->released_ns : rewrite.read->computed_ns;
  verdict.why.push_back(done ? concat("Rank ", reader, " gave it back ", *done - rewrite.second->posted_ns,
                                      " ns after it was replaced.")
                             : concat("Rank ", reader, " has not given it back at all."));
  verdict.evidence.push_back(quote_of(evidence, rewrite.second->source, "second write of the slot"));
  verdict.evidence.push_back(quote_of(evidence, rewrite.read->source, "the reader's block"));
  verdict.counter_check =
      "Clocks of one host agree to well below the time between the two; the order is not in doubt.";
}

void add_step_text(const JobPicture& picture, const WaitSet& set, const StepFact* step, int waiter,
                   Verdict& verdict) {
  if (step == nullptr || verdict.why.size() >= 8) return;
  verdict.why.push_back(concat("Rank ", picture.ranks[static_cast<std::size_t>(waiter)].label,
                               " waits in call ", set.seq.value_or(0), " step ", step->step,
                               step->is_incoming ? " for the block of rank " : " for the release by rank ",
                               step->peer, '.'));
}

}  // namespace

bool explain_steps(const HangEvidence& evidence, const JobPicture& picture, const WaitGraph& graph,
                   std::vector<Candidate>& out) {
  std::vector<int> left, busy;
  const WaitSet* first = nullptr;
  for (const WaitSet& set : graph.sets) {
    if (!set.is_step || set.waiters.empty()) continue;
    const WaitTarget& target = set.targets.front();
    if (target.rank == kUnknown || graph.ranks[static_cast<std::size_t>(target.rank)].set != kUnknown)
      continue;
    const GroupPicture& group = picture.groups[static_cast<std::size_t>(set.group)];
    const int at = group.member_of(target.rank);
    const bool has_left =
        at != kUnknown && group.members[static_cast<std::size_t>(at)].completed.value_or(-1) >= set.seq;
    if (target.state == TargetState::missing && !has_left) return false;  // it has not come: the general rule
    if (target.state == TargetState::unknown) return false;
    (target.state == TargetState::missing ? left : busy).push_back(target.rank);
    if (first == nullptr || (target.state == TargetState::missing && left.size() == 1)) first = &set;
  }
  if (first == nullptr) return false;
  const std::vector<int>& culprits = left.empty() ? busy : left;
  const StepIndex steps(picture);
  Candidate& candidate = out.emplace_back();
  candidate.weight = Weight::strong;
  candidate.rule = left.empty() ? "works_on_block" : "left_early";
  Verdict& verdict = candidate.verdict;
  verdict.kind = left.empty() ? FaultKind::rank_not_entered : FaultKind::ring_step_mismatch;
  verdict.grade = left.empty() ? Grade::likely : Grade::certain;
  verdict.culprits = labels_of(picture, culprits);
  verdict.victims = labels_of(picture, graph.waiting_for(culprits));
  verdict.group = picture.groups[static_cast<std::size_t>(first->group)].label;
  const StepFact* step = steps.waiting_step(first->group, first->waiters.front(), first->seq.value_or(0));
  verdict.op = concat(first->op != nullptr ? op_name(*first->op) : std::string("operation"));
  if (step != nullptr) verdict.op += concat(", step ", step->step);
  verdict.seq = std::to_string(first->seq.value_or(0));
  const std::string who = ranks_text(verdict.culprits);
  verdict.title =
      left.empty()
          ? concat(who, " has its data and works on it; the others wait for its next block in ", verdict.op)
          : concat(who, " has left ", verdict.op, " of which the others wait for more blocks");
  for (const WaitSet& set : graph.sets) {
    if (!set.is_step || set.waiters.empty()) continue;
    add_step_text(picture, set, steps.waiting_step(set.group, set.waiters.front(), set.seq.value_or(0)),
                  set.waiters.front(), verdict);
  }
  if (first->op != nullptr) verdict.evidence.push_back(quote_of(evidence, *first->op, "what is stuck"));
  verdict.counter_check = left.empty() ? "A rank that had not entered would have no record of this call."
                                       : "A slow rank would still be inside the call.";
  add_edges(picture, graph, verdict);
  return true;
}

void records_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out) {
  for (const GroupPicture& group : picture.groups) {
    std::optional<Rewrite> earliest;
    find_rewrites(picture, group, earliest);
    if (earliest) tell_rewrite(evidence, picture, group, *earliest, out);
  }
}

}  // namespace ringcomm::inline v0::diag
