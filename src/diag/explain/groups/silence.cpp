// SPDX-License-Identifier: Apache-2.0
// When no rank is proved to be missing: ranks of which nothing is known, or all are in and nothing moves.
#include <algorithm>
#include <set>

#include "diag/evidence/reader.hpp"
#include "diag/explain/groups/rules.hpp"
#include "diag/explain/groups/texts.hpp"
#include "diag/explain/other_work.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// The call that most ranks have as their oldest open one.
struct Stuck {
  const Head* head = nullptr;
  std::vector<int> waiters;
};

Stuck most_common(const WaitGraph& graph) {
  std::map<std::pair<int, std::int64_t>, Stuck> calls;
  for (std::size_t r = 0; r < graph.ranks.size(); ++r) {
    if (graph.ranks[r].heads.empty()) continue;
    const Head& head = graph.ranks[r].heads.front();
    Stuck& stuck = calls[{head.group, head.seq.value_or(kUnknown)}];
    if (stuck.head == nullptr || (stuck.head->op == nullptr && head.op != nullptr)) stuck.head = &head;
    stuck.waiters.push_back(static_cast<int>(r));
  }
  Stuck best;
  for (auto& [key, stuck] : calls) {
    if (stuck.waiters.size() > best.waiters.size()) best = std::move(stuck);
  }
  return best;
}

void fill_place(const HangEvidence& evidence, const JobPicture& picture, const Stuck& stuck,
                Verdict& verdict) {
  verdict.group = picture.groups[static_cast<std::size_t>(stuck.head->group)].label;
  const OpFact* op = stuck.head->op;
  if (op != nullptr) {
    verdict.op = op_text(*op);
    verdict.seq = seq_text(*op);
    verdict.evidence.push_back(quote_of(evidence, *op, "what is stuck"));
  } else if (stuck.head->seq) {
    verdict.seq = std::to_string(*stuck.head->seq);
  }
}

/// A line of the program that shows work going on, on that rank or on one that the line does not name.
const EventFact* progress_of(const HangEvidence& evidence, const JobPicture& picture, int rank) {
  for (const EventFact& event : evidence.events) {
    if (event.kind != EventKind::progress) continue;
    const int at = picture.find(event.who, event.group);
    if (at == rank || (at == kUnknown && is_other_work(event))) return &event;
  }
  return nullptr;
}

/// The same call of the same rank in two files: two runs that end at one place.
bool is_repeated(const JobPicture& picture, const Head& head) {
  for (const MemberPicture& member : picture.groups[static_cast<std::size_t>(head.group)].members) {
    const OpFact* first = nullptr;
    for (const OpFact* op : member.open) {
      if (op->seq != head.seq || !op->is_timed_out) continue;
      if (first != nullptr && first->source.file != op->source.file) return true;
      first = op;
    }
  }
  return false;
}

void tell_all_in(const HangEvidence& evidence, const JobPicture& picture, const Stuck& stuck,
                 std::vector<Candidate>& out) {
  Candidate& candidate = out.emplace_back();
  candidate.weight = Weight::weak;
  candidate.rule = "all_entered";
  Verdict& verdict = candidate.verdict;
  verdict.kind = FaultKind::all_entered_no_progress;
  verdict.grade = Grade::cannot_tell;
  fill_place(evidence, picture, stuck, verdict);
  verdict.victims = labels_of(picture, stuck.waiters);
  const std::string call =
      concat(verdict.op.empty() ? "the call" : verdict.op, verdict.seq.empty() ? "" : " ", verdict.seq);
  verdict.title = concat("All ranks of ", verdict.group.empty() ? "the group" : verdict.group, " are in ",
                         call, " and nothing moves: device or transport, no culprit from this evidence");
  const GroupPicture& group = picture.groups[static_cast<std::size_t>(stuck.head->group)];
  if (group.size == kUnknown && group.members.size() < 2) {
    verdict.kind = FaultKind::insufficient_evidence;
    verdict.title =
        concat("Rank ", verdict.victims.front(), " waits in ", call, "; of the other ranks there is no line");
    verdict.why.emplace_back("One rank's evidence cannot tell who is missing.");
    return;
  }
  verdict.why.push_back(
      concat(ranks_text(verdict.victims), " made the same call with the same sizes; nobody is missing."));
  if (is_repeated(picture, *stuck.head))
    verdict.why.push_back(
        concat("Two runs end at the same call ", verdict.seq,
               ": a fault of a link or a GPU does not repeat at one number; look at what the program "
               "does at that step."));
  const bool is_first =
      std::any_of(group.members.begin(), group.members.end(), [](const MemberPicture& member) {
        return member.completed && *member.completed <= 0 && member.enqueued && *member.enqueued > 0;
      });
  if (is_first)
    verdict.why.emplace_back(
        "No collective of this group has ever completed: the transport may never have worked.");
  verdict.counter_check = "A rank that skipped a call would have a lower count, or no line; none has.";
}

std::set<int> unknown_of(const WaitGraph& graph, bool& has_nameless) {
  std::set<int> unknown;
  for (const WaitSet& set : graph.sets) {
    if (set.waiters.empty()) continue;
    for (const WaitTarget& target : set.targets) {
      if (target.state != TargetState::unknown) continue;
      if (target.rank == kUnknown) {
        has_nameless = true;
      } else {
        unknown.insert(target.rank);
      }
    }
  }
  return unknown;
}

bool has_unreadable(const HangEvidence& evidence, const JobPicture& picture, const std::set<int>& ranks) {
  for (const UnreadFile& file : evidence.unread) {
    const auto at = picture.index_of_rank.find(rank_of_name(file.file));
    if (at != picture.index_of_rank.end() && ranks.count(at->second) != 0) return true;
  }
  return false;
}

/// RAS asked every rank of the job and found equal launch counts: nobody is missing, whatever logs are lost.
const EventFact* ras_says_even(const HangEvidence& evidence, const JobPicture& picture) {
  for (const EventFact& event : evidence.events) {
    const bool is_ok = event.detail.starts_with("ras_status ") && event.detail.ends_with(" OK");
    if (is_ok && picture.world_size && event.code >= *picture.world_size) return &event;
  }
  return nullptr;
}

}  // namespace

bool explain_silence(const HangEvidence& evidence, const JobPicture& picture, const WaitGraph& graph,
                     std::vector<Candidate>& out) {
  const Stuck stuck = most_common(graph);
  if (stuck.head == nullptr) return false;
  bool has_nameless = false;
  const std::set<int> unknown = unknown_of(graph, has_nameless);
  const EventFact* even = ras_says_even(evidence, picture);
  if (unknown.empty() || even != nullptr) {
    tell_all_in(evidence, picture, stuck, out);
    if (even == nullptr) return true;
    Verdict& verdict = out.back().verdict;
    verdict.evidence.push_back(
        quote_of(evidence, even->source, even->text, "all ranks launched the same count"));
    verdict.why.emplace_back(
        "RAS counts launches, not completions: OK says that no rank is missing, not that the job is well.");
    return true;
  }
  const std::vector<int> silent(unknown.begin(), unknown.end());
  Candidate& candidate = out.emplace_back();
  candidate.rule = "silent_member";
  Verdict& verdict = candidate.verdict;
  fill_place(evidence, picture, stuck, verdict);
  const std::string who = ranks_text(labels_of(picture, silent));
  const std::string call =
      concat(verdict.op.empty() ? "the call" : verdict.op, verdict.seq.empty() ? "" : " ", verdict.seq);
  verdict.victims = labels_of(picture, graph.waiting_for(silent));
  verdict.suspects = labels_of(picture, silent);
  const EventFact* progress = silent.size() == 1 ? progress_of(evidence, picture, silent.front()) : nullptr;
  const bool is_few = silent.size() < verdict.victims.size() && !has_unreadable(evidence, picture, unknown);
  if (progress != nullptr) {
    verdict.kind = FaultKind::rank_not_entered;
    verdict.grade = Grade::likely;
    verdict.culprits = std::move(verdict.suspects);
    verdict.suspects.clear();
    candidate.weight = Weight::strong;
    verdict.title = concat(who, " is late for ", call, ": its program was still at work");
    verdict.evidence.push_back(
        quote_of(evidence, progress->source, progress->text, "the program is alive and busy"));
    verdict.why.push_back(
        concat(who, " has no line about ", call, ", and a line of the program shows it at work (",
               progress->detail.empty() ? progress->text.substr(0, 80) : progress->detail, ")."));
    verdict.counter_check =
        "Not a deadlock: that rank moves. A longer timeout for this section would let it arrive.";
  } else if (is_few) {
    verdict.kind = FaultKind::rank_not_entered;
    verdict.grade = Grade::possible;
    candidate.weight = Weight::ordinary;
    verdict.title = concat("All but ", who, " wait in ", call, "; of ", who, " there is no line");
    verdict.why.push_back(
        concat(who, " never joined, or died, or its log is lost: the evidence does not tell which."));
  } else {
    verdict.kind = FaultKind::insufficient_evidence;
    verdict.grade = Grade::cannot_tell;
    candidate.weight = Weight::weak;
    verdict.title = concat(ranks_text(verdict.victims), " wait in ", call, "; what ", who, " did is unknown");
    verdict.why.push_back(
        concat("There is no usable evidence of ", who, ", so nobody can be said to be missing."));
  }
  add_edges(picture, graph, verdict);
  return true;
}

void waits_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out) {
  const WaitGraph graph = wait_graph_of(picture);
  const bool has_sink =
      explain_steps(evidence, picture, graph, out) || explain_sinks(evidence, picture, graph, out);
  const std::size_t before = out.size();
  const bool has_cycle = explain_cycles(evidence, picture, graph, out);
  // Somebody who waits for nobody explains more than ranks that wait for one another.
  if (has_sink && has_cycle) out[before].weight = Weight::ordinary;
  if (!has_cycle && !has_sink) explain_silence(evidence, picture, graph, out);
}

}  // namespace ringcomm::inline v0::diag
