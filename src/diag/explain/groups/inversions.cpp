// SPDX-License-Identifier: Apache-2.0
// Cycles that nobody can leave: groups in different order, sends against sends, communicators at once.
#include <algorithm>
#include <map>
#include <set>

#include "diag/explain/groups/rules.hpp"
#include "diag/explain/groups/texts.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

struct Step {
  int rank = kUnknown;
  const WaitSet* set = nullptr;
  WaitTarget to;
};

/// One round: from the first rank along waits inside the cycle until a rank comes again.
std::vector<Step> walk(const WaitGraph& graph, const std::vector<int>& members) {
  std::vector<Step> steps;
  std::map<int, std::size_t> seen;
  int rank = members.front();
  while (seen.try_emplace(rank, steps.size()).second) {
    const WaitSet& set =
        graph.sets[static_cast<std::size_t>(graph.ranks[static_cast<std::size_t>(rank)].set)];
    // Somebody seen before closes the round; else the first one.
    const WaitTarget* to = nullptr;
    for (const WaitTarget& target : set.targets) {
      if (!std::binary_search(members.begin(), members.end(), target.rank)) continue;
      if (to == nullptr || seen.count(target.rank) != 0) to = &target;
    }
    if (to == nullptr) return {};
    steps.push_back({rank, &set, *to});
    rank = to->rank;
  }
  steps.erase(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(seen[rank]));
  std::rotate(steps.begin(),
              std::min_element(steps.begin(), steps.end(),
                               [](const Step& a, const Step& b) { return a.rank < b.rank; }),
              steps.end());
  return steps;
}

std::string call_text(const Step& step) {
  if (step.set->op == nullptr) return concat("call ", step.set->seq.value_or(0));
  if (step.set->is_p2p) return op_name(*step.set->op);
  const std::string seq = seq_text(*step.set->op);
  return concat(op_name(*step.set->op), seq.empty() ? "" : " ", seq);
}

bool is_grouped(const Step& step) {
  return step.set->op != nullptr && (step.set->op->coalesced != kUnknown || step.set->targets.size() > 1);
}

/// Started marks of the two groups of a cycle differ between ranks.
bool starts_differ(const JobPicture& picture, const std::vector<Step>& steps) {
  std::set<std::pair<int, int>> started;  // group, 0/1
  for (const Step& step : steps) {
    for (const MemberPicture& member : picture.groups[static_cast<std::size_t>(step.set->group)].members) {
      if (member.open.empty() || member.open.front()->started == Tri::unknown) continue;
      started.emplace(step.set->group, member.open.front()->started == Tri::yes ? 1 : 0);
    }
  }
  return started.size() >= 4;
}

void fill_kind(const JobPicture& picture, const std::vector<Step>& steps, Candidate& candidate) {
  Verdict& verdict = candidate.verdict;
  const bool is_p2p =
      std::all_of(steps.begin(), steps.end(), [](const Step& step) { return step.set->is_p2p; });
  const bool is_grouped_p2p = std::any_of(steps.begin(), steps.end(), is_grouped);
  const bool is_all_in = std::all_of(steps.begin(), steps.end(),
                                     [](const Step& step) { return step.to.state == TargetState::behind; });
  const bool is_whole = std::all_of(steps.begin(), steps.end(), [&](const Step& step) {
    return picture.ranks[static_cast<std::size_t>(step.rank)].has_dump;
  });
  verdict.grade =
      is_whole ? Grade::certain : Grade::likely;  // lines of a log tell what waits, not in what order
  if (is_p2p && !is_grouped_p2p) {
    verdict.kind = FaultKind::p2p_cycle;
    candidate.rule = "p2p_cycle";
  } else if (is_all_in && !is_p2p) {
    verdict.kind = FaultKind::concurrent_communicators;
    verdict.grade = starts_differ(picture, steps) ? Grade::likely : Grade::possible;
    candidate.rule = "concurrent_communicators";
  } else {
    verdict.kind = FaultKind::order_inversion;
    candidate.rule = "order_inversion";
  }
}

Candidate cycle_candidate(const HangEvidence& evidence, const JobPicture& picture, const WaitGraph& graph,
                          const std::vector<int>& members, const std::vector<Step>& steps) {
  Candidate candidate;
  candidate.weight = Weight::strong;
  Verdict& verdict = candidate.verdict;
  fill_kind(picture, steps, candidate);
  verdict.suspects = labels_of(picture, members);
  verdict.victims = labels_of(picture, graph.waiting_for(members));
  std::vector<std::string> groups, ops, seqs;
  for (const Step& step : steps) {
    const std::string& group = picture.groups[static_cast<std::size_t>(step.set->group)].label;
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
    const std::string call = call_text(step);
    if (std::find(ops.begin(), ops.end(), call) == ops.end()) ops.push_back(call);
    if (step.set->op != nullptr) {
      const std::string seq = seq_text(*step.set->op);
      if (!seq.empty() && std::find(seqs.begin(), seqs.end(), seq) == seqs.end()) seqs.push_back(seq);
    }
    verdict.cycle.push_back({picture.ranks[static_cast<std::size_t>(step.rank)].label,
                             picture.ranks[static_cast<std::size_t>(step.to.rank)].label, group, call});
    verdict.why.push_back(concat("Rank ", verdict.cycle.back().from, " is in ", call, " of ", group,
                                 " and waits for rank ", verdict.cycle.back().to,
                                 step.to.state == TargetState::missing
                                     ? ", which has not made that call."
                                     : ", which an earlier call of its own holds."));
    if (step.set->op != nullptr && verdict.evidence.size() < 12)
      verdict.evidence.push_back(quote_of(evidence, *step.set->op, "part of the cycle"));
  }
  for (std::size_t i = 0; i < groups.size(); ++i)
    verdict.group += concat(i == 0 ? "" : " against ", groups[i]);
  for (std::size_t i = 0; i < ops.size() && i < 8; ++i) verdict.op += concat(i == 0 ? "" : " / ", ops[i]);
  for (std::size_t i = 0; i < seqs.size() && i < 8; ++i) verdict.seq += concat(i == 0 ? "" : " / ", seqs[i]);
  verdict.title = concat(ranks_text(verdict.suspects), " wait for one another: ", verdict.op);
  verdict.counter_check = "A rank that is late would wait for nobody; every rank of this cycle waits.";
  add_edges(picture, graph, verdict);
  return candidate;
}

}  // namespace

bool explain_cycles(const HangEvidence& evidence, const JobPicture& picture, const WaitGraph& graph,
                    std::vector<Candidate>& out) {
  std::size_t largest = 0;
  std::optional<Candidate> best;
  for (const std::vector<int>& members : graph.closed_cycles()) {
    const std::vector<Step> steps = walk(graph, members);
    if (steps.size() < 2 || members.size() <= largest) continue;
    largest = members.size();
    best = cycle_candidate(evidence, picture, graph, members, steps);
  }
  if (!best) return false;
  out.push_back(std::move(*best));
  return true;
}

}  // namespace ringcomm::inline v0::diag
