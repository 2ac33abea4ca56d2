// SPDX-License-Identifier: Apache-2.0
// Ranks that only sends and receives wait for: a ring loop of another length, or a call without its half.
#include <algorithm>
#include <map>
#include <set>

#include "diag/evidence/record/record_words.hpp"
#include "diag/explain/groups/rules.hpp"
#include "diag/explain/groups/texts.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

struct Waiting {
  std::set<int> senders, receivers;  ///< ranks whose send, or receive, has no other half on this rank
  const WaitSet* set = nullptr;
};

/// Calls of one member, which peers it has sent to and received from before.
struct Partners {
  std::set<int> to, from;
};

Partners partners_of(const MemberPicture& member) {
  Partners partners;
  for (const OpFact* op : member.history) {
    if (op->op == OpClass::send) partners.to.insert(op->peer);
    if (op->op == OpClass::recv) partners.from.insert(op->peer);
  }
  return partners;
}

bool is_context_parallel(const GroupPicture& group) {
  const std::string text = concat(group.name, ' ', group.description);
  return text.find("cp") != std::string::npos || text.find("CP") != std::string::npos ||
         text.find("context") != std::string::npos || text.find("CONTEXT") != std::string::npos;
}

std::int64_t step_of(const WaitSet& set) { return set.seq.value_or(0); }

void fill_ring(const HangEvidence& evidence, const JobPicture& picture, const std::map<int, Waiting>& waiting,
               Verdict& verdict) {
  const WaitSet& set = *waiting.begin()->second.set;
  const GroupPicture& group = picture.groups[static_cast<std::size_t>(set.group)];
  verdict.kind = FaultKind::ring_step_mismatch;
  verdict.op =
      concat(is_context_parallel(group) ? "KV ring send/recv, step " : "ring send/recv, step ", step_of(set));
  verdict.title = concat(ranks_text(verdict.culprits), " left the ring loop of ", group.label,
                         " before step ", step_of(set), ", which both neighbours are in");
  for (const auto& [rank, by] : waiting) {
    const int at = group.member_of(rank);
    std::size_t steps = 0;
    if (at != kUnknown) {
      for (const OpFact* op : group.members[static_cast<std::size_t>(at)].history)
        steps += op->op == OpClass::send ? 1 : 0;
    }
    verdict.why.push_back(concat(
        "Rank ", picture.ranks[static_cast<std::size_t>(rank)].label, " has finished ", steps,
        " sends and has none open; ", ranks_text(labels_of(picture, {by.senders.begin(), by.senders.end()})),
        " sends to it and ", ranks_text(labels_of(picture, {by.receivers.begin(), by.receivers.end()})),
        " expects data of it at step ", step_of(*by.set), "."));
    for (const OpFact* op : {by.set->op})
      verdict.evidence.push_back(quote_of(evidence, *op, "has no other half"));
  }
  verdict.why.emplace_back(
      "A neighbour whose own call is complete is no fault: the other halves of its peers' grouped calls are "
      "open.");
}

void fill_unmatched(const HangEvidence& evidence, const JobPicture& picture,
                    const std::map<int, Waiting>& waiting, Verdict& verdict) {
  const WaitSet& set = *waiting.begin()->second.set;
  verdict.kind = FaultKind::p2p_unmatched;
  verdict.op = op_name(*set.op);
  verdict.title = concat(verdict.op, " of ", picture.groups[static_cast<std::size_t>(set.group)].label,
                         " has no other half");
  for (const auto& [rank, by] : waiting) {
    verdict.why.push_back(concat("Rank ", picture.ranks[static_cast<std::size_t>(rank)].label,
                                 " has no open call, and none of its calls pairs with ", op_name(*by.set->op),
                                 "."));
    verdict.evidence.push_back(quote_of(evidence, *by.set->op, "has no other half"));
  }
}

/// A waiter that addresses somebody new although it had a partner before has the wrong peer itself.
std::vector<int> with_wrong_peer(const JobPicture& picture, const WaitGraph& graph,
                                 const std::map<int, Waiting>& waiting) {
  std::vector<int> wrong;
  for (const auto& [rank, by] : waiting) {
    const GroupPicture& group = picture.groups[static_cast<std::size_t>(by.set->group)];
    const int own = group.member_of(rank);
    for (const auto* side : {&by.senders, &by.receivers}) {
      for (const int waiter : *side) {
        const int at = group.member_of(waiter);
        if (at == kUnknown) continue;
        const Partners partners = partners_of(group.members[static_cast<std::size_t>(at)]);
        const std::set<int>& before = side == &by.senders ? partners.to : partners.from;
        if (!before.empty() && before.count(own) == 0) wrong.push_back(waiter);
      }
    }
  }
  (void)graph;
  return wrong;
}

}  // namespace

bool explain_p2p_sinks(const HangEvidence& evidence, const JobPicture& picture, const WaitGraph& graph,
                       const std::vector<int>& missing, std::vector<Candidate>& out) {
  std::map<int, Waiting> waiting;
  for (const WaitSet& set : graph.sets) {
    if (set.waiters.empty()) continue;
    for (const WaitTarget& target : set.targets) {
      if (target.state != TargetState::missing ||
          !std::binary_search(missing.begin(), missing.end(), target.rank))
        continue;
      if (!set.is_p2p) return false;  // a collective misses it as well: it did not come at all
      Waiting& by = waiting[target.rank];
      if (by.set == nullptr) by.set = &set;
      const GroupPicture& group = picture.groups[static_cast<std::size_t>(set.group)];
      for (const Head& head : graph.ranks[static_cast<std::size_t>(set.waiters.front())].heads) {
        if (head.group != set.group) continue;
        for (const OpFact* part : head.parts) {
          if (part->peer != group.member_of(target.rank)) continue;
          (part->op == OpClass::send ? by.senders : by.receivers).insert(set.waiters.front());
        }
      }
    }
  }
  if (waiting.empty()) return false;
  const bool is_ring = std::all_of(waiting.begin(), waiting.end(), [](const auto& one) {
    return !one.second.senders.empty() && !one.second.receivers.empty();
  });
  const std::vector<int> wrong = with_wrong_peer(picture, graph, waiting);
  Candidate candidate;
  candidate.weight = Weight::strong;
  candidate.rule = is_ring ? "ring_steps" : "p2p_pairs";
  Verdict& verdict = candidate.verdict;
  const std::vector<int> culprits = !wrong.empty() ? wrong : missing;
  verdict.culprits = labels_of(picture, culprits);
  verdict.victims = labels_of(picture, graph.waiting_for(culprits));
  const WaitSet& set = *waiting.begin()->second.set;
  verdict.group = picture.groups[static_cast<std::size_t>(set.group)].label;
  if (set.op != nullptr) verdict.seq = seq_text(*set.op);
  // Own records number the messages of each pair, and nothing that was posted is missing in them
  // (but for one message of a rank that was killed in the instant between the two, which its peer has).
  const bool is_proved = std::all_of(waiting.begin(), waiting.end(), [&picture](const auto& one) {
    const std::string& id = picture.groups[static_cast<std::size_t>(one.second.set->group)].unique_id;
    return id.ends_with(kPairsSuffix);
  });
  if (is_ring && wrong.empty()) {
    fill_ring(evidence, picture, waiting, verdict);
  } else if (!wrong.empty() || is_proved) {
    fill_unmatched(evidence, picture, waiting, verdict);
  } else {
    return false;  // it simply did not come: the general rule says so
  }
  const bool is_certain = std::all_of(culprits.begin(), culprits.end(), [&](int rank) {
    return picture.ranks[static_cast<std::size_t>(rank)].has_dump;
  });
  verdict.grade = is_certain ? Grade::certain : Grade::likely;
  verdict.counter_check =
      "A rank that waits elsewhere would show an open call in another group; there is none.";
  add_edges(picture, graph, verdict);
  out.push_back(std::move(candidate));
  return true;
}

}  // namespace ringcomm::inline v0::diag
