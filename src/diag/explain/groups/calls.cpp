// SPDX-License-Identifier: Apache-2.0
// Logs that print each call and no completion: the rank whose calls of a communicator end first is the one
// that the others wait for, if they wait.
#include <algorithm>

#include "diag/explain/groups/rules.hpp"
#include "diag/explain/groups/texts.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// The last call that a member's log shows; nothing where it shows more than calls, or none.
const OpFact* last_call_of(const MemberPicture& member) {
  if (member.rank == kUnknown || !member.open.empty() || member.history.empty()) return nullptr;
  const OpFact* last = nullptr;
  for (const OpFact* op : member.history) {
    if (!op->is_hex_seq || !op->seq || op->completed != Tri::unknown) return nullptr;
    if (last == nullptr || *last->seq < *op->seq) last = op;
  }
  return last;
}

bool has_timeout(const HangEvidence& evidence) {
  return std::any_of(evidence.events.begin(), evidence.events.end(),
                     [](const EventFact& event) { return event.kind == EventKind::timeout; });
}

void tell_first_to_end(const HangEvidence& evidence, const JobPicture& picture, const GroupPicture& group,
                       std::vector<Candidate>& out) {
  const OpFact* furthest = nullptr;
  const OpFact* shortest = nullptr;
  for (const MemberPicture& member : group.members) {
    const OpFact* last = last_call_of(member);
    if (last == nullptr) return;  // without all members nothing can be compared
    if (furthest == nullptr || *furthest->seq < *last->seq) furthest = last;
    if (shortest == nullptr || *last->seq < *shortest->seq) shortest = last;
  }
  if (furthest == nullptr || *furthest->seq == *shortest->seq) return;
  std::vector<int> few, rest;
  const OpFact* waited_for = nullptr;  // the first call that they have not made
  for (const MemberPicture& member : group.members) {
    (*last_call_of(member)->seq == *shortest->seq ? few : rest).push_back(member.rank);
    for (const OpFact* op : member.history) {
      if (*op->seq == *shortest->seq + 1) waited_for = op;
    }
  }
  if (waited_for == nullptr) return;
  const bool is_hang = has_timeout(evidence);
  Candidate& candidate = out.emplace_back();
  candidate.weight = is_hang ? Weight::ordinary : Weight::weak;
  candidate.rule = "calls_end_first";
  Verdict& verdict = candidate.verdict;
  verdict.kind = FaultKind::rank_not_entered;
  verdict.grade = Grade::possible;
  (few.size() * 2 <= group.members.size() ? verdict.culprits : verdict.suspects) = labels_of(picture, few);
  verdict.victims = labels_of(picture, rest);
  verdict.group = group.label;
  verdict.op = op_text(*waited_for);
  verdict.seq = seq_text(*waited_for);
  const std::string who = ranks_text(labels_of(picture, few));
  verdict.title = concat("The calls of ", who, " on ", group.label, " end at ", seq_text(*shortest),
                         "; others have called ", verdict.op, ' ', verdict.seq);
  verdict.why.emplace_back(concat("The last call that the log shows of ", who, " is ", op_name(*shortest),
                                  ' ', seq_text(*shortest), "; the furthest rank is at ", seq_text(*furthest),
                                  '.'));
  verdict.evidence.push_back(quote_of(evidence, *shortest, "the last call there"));
  verdict.evidence.push_back(quote_of(evidence, *waited_for, "made by others"));
  verdict.counter_check =
      "A log that was cut, or a job that still runs, looks the same: the end of that rank's own log tells.";
}

}  // namespace

void calls_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out) {
  for (const GroupPicture& group : picture.groups) {
    const bool is_whole = group.size == kUnknown || static_cast<int>(group.members.size()) == group.size;
    if (!group.has_p2p && !group.is_unnamed && group.members.size() >= 2 && is_whole)
      tell_first_to_end(evidence, picture, group, out);
  }
}

}  // namespace ringcomm::inline v0::diag
