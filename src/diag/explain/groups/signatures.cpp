// SPDX-License-Identifier: Apache-2.0
// Operation, size, type and reduction that the members of a group call at one sequence number.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "diag/explain/groups/rules.hpp"
#include "diag/explain/groups/texts.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

struct Call {
  int rank = kUnknown;
  const OpFact* op = nullptr;
};
/// The ranks that agree, by what they agree on.
using Classes = std::map<std::string, std::vector<Call>>;

struct Mismatch {
  FaultKind kind = FaultKind::none;
  Classes classes;
  std::string what;  ///< "operation", "element count"
};

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string class_text(const OpFact& op) {
  return op.op == OpClass::unknown ? upper(op_name(op)) : std::string(name_of(op.op));
}

template <class Value>
Classes classes_by(const std::vector<Call>& calls, const Value& value) {
  Classes classes;
  for (const Call& call : calls) {
    const std::string key = value(*call.op);
    if (!key.empty()) classes[key].push_back(call);  // what a line does not tell agrees with everything
  }
  return classes;
}

/// A call of unknown size has the size of those with its plan.
void join_by_plan(const std::vector<Call>& calls, Classes& classes) {
  for (const Call& call : calls) {
    if (call.op->signature == 0 || elements_in(*call.op) || elements_out(*call.op)) continue;
    for (auto& [size, members] : classes) {
      if (members.front().op->signature != call.op->signature) continue;
      members.push_back(call);
      break;
    }
  }
}

std::optional<Mismatch> mismatch_of(const std::vector<Call>& calls) {
  const auto differs = [](const Classes& classes) { return classes.size() > 1; };
  Classes classes = classes_by(calls, class_text);
  if (differs(classes)) return Mismatch{FaultKind::op_mismatch, std::move(classes), "operation"};
  Classes plans = classes_by(calls, [](const OpFact& op) {
    return op.signature == 0 ? std::string() : std::to_string(op.signature);
  });
  const bool has_plans = !plans.empty();
  // Ranks whose plans are equal agree in their sizes where these may differ; the plan of a reduction or a
  // gather does not hold its size, type or operator.
  const bool is_variable_size = std::any_of(calls.begin(), calls.end(), [has_plans](const Call& call) {
    const OpClass op = call.op->op;
    if (has_plans) return op == OpClass::ring_rotate || op == OpClass::ring_attention;
    return is_variable(op) || op == OpClass::barrier;
  });
  if (!is_variable_size) {
    classes = classes_by(calls, [](const OpFact& op) {
      const auto elements = elements_in(op) ? elements_in(op) : elements_out(op);
      return elements ? std::to_string(*elements) : std::string();
    });
    join_by_plan(calls, classes);
    if (differs(classes)) return Mismatch{FaultKind::size_mismatch, std::move(classes), "element count"};
  }
  classes = classes_by(calls, [](const OpFact& op) { return upper(op.dtype); });
  if (differs(classes)) return Mismatch{FaultKind::dtype_mismatch, std::move(classes), "data type"};
  classes = classes_by(calls, [](const OpFact& op) { return upper(op.reduce_op); });
  if (differs(classes)) return Mismatch{FaultKind::op_mismatch, std::move(classes), "reduction"};
  classes = classes_by(calls, [](const OpFact& op) {
    return is_rooted(op.op) && op.root != kUnknown ? std::to_string(op.root) : std::string();
  });
  if (differs(classes)) return Mismatch{FaultKind::op_mismatch, std::move(classes), "root"};
  if (differs(plans)) return Mismatch{FaultKind::plan_mismatch, std::move(plans), "plan"};
  return std::nullopt;
}

/// Calls of one group by sequence, but for those that are over.
std::map<std::int64_t, std::vector<Call>> calls_by_seq(const GroupPicture& group) {
  std::map<std::int64_t, std::vector<Call>> calls;
  for (const MemberPicture& member : group.members) {
    if (member.rank == kUnknown) continue;
    std::set<std::int64_t> seen;
    for (const auto* ops : {&member.open, &member.history}) {
      for (const OpFact* op : *ops) {
        if (is_p2p(*op) || op->completed == Tri::yes) continue;
        if (seen.insert(op->seq.value_or(kUnknown)).second)
          calls[op->seq.value_or(kUnknown)].push_back({member.rank, op});
      }
    }
  }
  return calls;
}

/// The members that the majority of the group is against; empty: nobody has a majority.
std::vector<Call> minority_of(const Mismatch& mismatch, std::size_t size) {
  const auto largest =
      std::max_element(mismatch.classes.begin(), mismatch.classes.end(),
                       [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (largest->second.size() * 2 <= size) return {};
  std::vector<Call> minority;
  for (auto at = mismatch.classes.begin(); at != mismatch.classes.end(); ++at) {
    if (at != largest) minority.insert(minority.end(), at->second.begin(), at->second.end());
  }
  return minority;
}

/// All of these made the same call before: the difference is new.
bool agreed_before(const GroupPicture& group, const std::vector<Call>& calls) {
  std::vector<Call> before;
  for (const Call& call : calls) {
    const int at = group.member_of(call.rank);
    if (at == kUnknown || !call.op->seq) return false;
    const MemberPicture& member = group.members[static_cast<std::size_t>(at)];
    const auto previous = std::find_if(member.history.begin(), member.history.end(),
                                       [&call](const OpFact* op) { return op->seq == *call.op->seq - 1; });
    if (previous == member.history.end()) return false;
    before.push_back({call.rank, *previous});
  }
  return !mismatch_of(before);
}

bool is_fingerprint(const HangEvidence& evidence, const OpFact& op) {
  return std::any_of(evidence.events.begin(), evidence.events.end(), [&op](const EventFact& event) {
    return event.kind == EventKind::mismatch_reported && event.source.file == op.source.file &&
           event.source.line == op.source.line;
  });
}

std::vector<int> ranks_of(const std::vector<Call>& calls) {
  std::vector<int> ranks;
  for (const Call& call : calls) ranks.push_back(call.rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

/// "BROADCAST(5056) on rank 7 against ALLREDUCE(2106881) on the others".
std::string against_text(const JobPicture& picture, const Mismatch& mismatch) {
  std::vector<const std::vector<Call>*> order;
  for (const auto& [key, calls] : mismatch.classes) order.push_back(&calls);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return a->size() < b->size(); });
  std::string text;
  for (std::size_t i = 0; i < order.size() && i < 6; ++i) {
    const OpFact& op = *order[i]->front().op;
    const bool is_rest = i + 1 == order.size() && i > 0 && order[i]->size() > 2;
    text += concat(i == 0 ? "" : " against ", op_text(op));
    if (mismatch.what == "reduction") text += concat(' ', op.reduce_op);
    if (mismatch.what == "root") text += concat(" root ", op.root);
    text += concat(" on ", is_rest ? "the others" : ranks_text(labels_of(picture, ranks_of(*order[i]))));
  }
  return text;
}

std::string say_class(const JobPicture& picture, const Mismatch& mismatch, const std::vector<Call>& calls) {
  const OpFact& op = *calls.front().op;
  std::string value = op_text(op);
  if (mismatch.kind == FaultKind::dtype_mismatch) value += concat(" of ", op.dtype);
  if (mismatch.what == "reduction") value += concat(" with ", op.reduce_op);
  if (mismatch.kind == FaultKind::plan_mismatch) value += concat(" with plan ", op.signature);
  return concat(ranks_text(labels_of(picture, ranks_of(calls))), ": ", value, '.');
}

Candidate candidate_of(const HangEvidence& evidence, const JobPicture& picture, const GroupPicture& group,
                       const std::vector<Call>& calls, const Mismatch& mismatch) {
  const std::size_t size =
      group.size != kUnknown && !group.is_unnamed ? static_cast<std::size_t>(group.size) : calls.size();
  const std::vector<Call> minority = minority_of(mismatch, std::max(size, calls.size()));
  Candidate candidate;
  candidate.weight = Weight::strong;
  candidate.rule = "signature";
  Verdict& verdict = candidate.verdict;
  verdict.kind = mismatch.kind;
  verdict.group = group.label;
  if (group.is_unnamed && is_fingerprint(evidence, *calls.front().op)) verdict.group = "default_pg";
  verdict.seq = seq_text(*calls.front().op);
  verdict.op =
      mismatch.kind == FaultKind::op_mismatch ? against_text(picture, mismatch) : op_name(*calls.front().op);
  const std::vector<int> all = ranks_of(calls);
  if (minority.empty()) {
    verdict.suspects = labels_of(picture, all);
    verdict.grade = calls.size() >= size ? Grade::certain : Grade::likely;
  } else {
    verdict.culprits = labels_of(picture, ranks_of(minority));
    verdict.grade = agreed_before(group, calls) ? Grade::certain : Grade::likely;
    const std::vector<int> odd = ranks_of(minority);
    std::vector<int> rest;
    std::set_difference(all.begin(), all.end(), odd.begin(), odd.end(), std::back_inserter(rest));
    verdict.victims = labels_of(picture, rest);
  }
  verdict.title =
      concat("At sequence ", verdict.seq.empty() ? "(not printed)" : verdict.seq, " of ", verdict.group,
             " the ranks differ in ", mismatch.what, ": ", against_text(picture, mismatch));
  for (const auto& [key, members] : mismatch.classes) {
    if (verdict.why.size() == 8) break;
    verdict.why.push_back(say_class(picture, mismatch, members));
    verdict.evidence.push_back(quote_of(evidence, *members.front().op));
  }
  if (minority.empty()) {
    verdict.why.emplace_back(
        "No side has more than half of the group, so no rank can be called the wrong one.");
  } else if (agreed_before(group, calls)) {
    verdict.why.emplace_back("One call earlier all of them agreed.");
  }
  verdict.counter_check = "A rank that is only late would make the same call, with a lower count.";
  return candidate;
}

/// One line of the library about two ranks whose calls are the same but for the number.
void tell_behind(const HangEvidence& evidence, const JobPicture& picture, const GroupPicture& group,
                 std::vector<Candidate>& out) {
  std::map<std::pair<int, int>, std::vector<Call>> lines;
  for (const MemberPicture& member : group.members) {
    for (const auto* ops : {&member.open, &member.history}) {
      for (const OpFact* op : *ops) {
        if (op->source.line > 0 && op->seq)
          lines[{op->source.file, op->source.line}].push_back({member.rank, op});
      }
    }
  }
  for (const auto& [where, calls] : lines) {
    if (calls.size() != 2 || calls[0].rank == calls[1].rank || calls[0].op->seq == calls[1].op->seq) continue;
    if (mismatch_of(calls)) continue;
    const auto& [ahead, behind] =
        *calls[0].op->seq > *calls[1].op->seq ? std::pair(calls[0], calls[1]) : std::pair(calls[1], calls[0]);
    Candidate& candidate = out.emplace_back();
    candidate.weight = Weight::strong;
    candidate.rule = "fingerprint_offset";
    Verdict& verdict = candidate.verdict;
    verdict.kind = FaultKind::rank_behind;
    verdict.grade = Grade::possible;
    verdict.suspects = labels_of(picture, {behind.rank});
    verdict.victims = labels_of(picture, {ahead.rank});
    verdict.group = group.is_unnamed ? "default_pg" : group.label;
    verdict.op = op_name(*ahead.op);
    verdict.seq = concat(seq_text(*ahead.op), " / ", seq_text(*behind.op));
    verdict.title = concat("Rank ", verdict.suspects.front(), " has made ", *ahead.op->seq - *behind.op->seq,
                           " call(s) less on ", verdict.group, " than rank ", verdict.victims.front());
    verdict.why.push_back(concat("The same ", verdict.op, " has number ", seq_text(*ahead.op), " on rank ",
                                 verdict.victims.front(), " and ", seq_text(*behind.op), " on rank ",
                                 verdict.suspects.front(), '.'));
    verdict.evidence.push_back(quote_of(evidence, *ahead.op));
    verdict.counter_check =
        "If this is the first collective, the checking wrapper itself may have counted it differently: the "
        "program "
        "may be right.";
    return;
  }
}

}  // namespace

void signatures_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out) {
  for (const GroupPicture& group : picture.groups) {
    for (const auto& [seq, calls] : calls_by_seq(group)) {
      if (calls.size() < 2) continue;
      const auto mismatch = mismatch_of(calls);
      if (!mismatch) continue;
      out.push_back(candidate_of(evidence, picture, group, calls, *mismatch));
      break;
    }
    tell_behind(evidence, picture, group, out);
  }
}

}  // namespace ringcomm::inline v0::diag
