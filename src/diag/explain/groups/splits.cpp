// SPDX-License-Identifier: Apache-2.0
// Sizes of an all_to_all may differ between ranks; only the sums over the group tell.
#include <algorithm>
#include <map>

#include "diag/explain/groups/rules.hpp"
#include "diag/explain/groups/texts.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

struct Exchange {
  int rank = kUnknown;
  const OpFact* op = nullptr;
  std::int64_t in = 0, out = 0;
};

std::map<std::int64_t, std::vector<Exchange>> exchanges_of(const GroupPicture& group) {
  std::map<std::int64_t, std::vector<Exchange>> exchanges;
  for (const MemberPicture& member : group.members) {
    for (const OpFact* op : member.open) {
      if (op->op != OpClass::all_to_all || !op->seq || !elements_in(*op) || !elements_out(*op)) continue;
      auto& at = exchanges[*op->seq];
      if (at.empty() || at.back().rank != member.rank)
        at.push_back({member.rank, op, *elements_in(*op), *elements_out(*op)});
    }
  }
  return exchanges;
}

bool was_balanced(const GroupPicture& group, int rank) {
  const int at = group.member_of(rank);
  if (at == kUnknown) return true;
  for (const OpFact* op : group.members[static_cast<std::size_t>(at)].history) {
    if (op->op == OpClass::all_to_all && elements_in(*op) != elements_out(*op)) return false;
  }
  return true;
}

void tell(const HangEvidence& evidence, const JobPicture& picture, const GroupPicture& group,
          const std::vector<Exchange>& exchanges, std::int64_t in, std::int64_t sum_out,
          std::vector<Candidate>& out) {
  std::vector<int> odd, all;
  for (const Exchange& one : exchanges) {
    all.push_back(one.rank);
    if (one.in != one.out) odd.push_back(one.rank);
  }
  const bool is_clear =
      !odd.empty() && odd.size() * 2 < all.size() &&
      std::all_of(odd.begin(), odd.end(), [&group](int rank) { return was_balanced(group, rank); });
  Candidate& candidate = out.emplace_back();
  candidate.weight = Weight::strong;
  candidate.rule = "splits";
  Verdict& verdict = candidate.verdict;
  verdict.kind = FaultKind::size_mismatch;
  verdict.grade = Grade::likely;
  (is_clear ? verdict.culprits : verdict.suspects) = labels_of(picture, is_clear ? odd : all);
  if (is_clear) {
    std::vector<int> rest;
    std::copy_if(all.begin(), all.end(), std::back_inserter(rest),
                 [&odd](int rank) { return std::find(odd.begin(), odd.end(), rank) == odd.end(); });
    verdict.victims = labels_of(picture, rest);
  }
  const OpFact& op = *exchanges.front().op;
  verdict.group = group.label;
  verdict.op = op_name(op);
  verdict.seq = seq_text(op);
  verdict.title = concat("In ", verdict.op, ' ', verdict.seq, " of ", group.label, " the ranks send ", in,
                         " elements in all and expect ", sum_out);
  for (const Exchange& one : exchanges) {
    if (one.in == one.out || verdict.why.size() == 8) continue;
    verdict.why.push_back(concat("Rank ", picture.ranks[static_cast<std::size_t>(one.rank)].label, " sends ",
                                 one.in, " elements and expects ", one.out,
                                 is_clear ? ", which it has not done before." : "."));
    verdict.evidence.push_back(quote_of(evidence, *one.op));
  }
  if (!is_clear) verdict.why.emplace_back("Which rank's splits are wrong cannot be read from sums alone.");
  verdict.counter_check =
      "Different sizes of two ranks are no fault by themselves; the sums of all ranks must be equal.";
}

}  // namespace

void splits_rule(const HangEvidence& evidence, const JobPicture& picture, std::vector<Candidate>& out) {
  for (const GroupPicture& group : picture.groups) {
    if (!group.is_complete) continue;
    for (const auto& [seq, exchanges] : exchanges_of(group)) {
      if (exchanges.size() != group.members.size()) continue;
      std::int64_t in = 0, sum_out = 0;
      bool is_sound = true;
      for (const Exchange& one : exchanges) {
        is_sound = is_sound && !__builtin_add_overflow(in, one.in, &in) &&
                   !__builtin_add_overflow(sum_out, one.out, &sum_out);
      }
      if (!is_sound || in == sum_out) continue;
      tell(evidence, picture, group, exchanges, in, sum_out, out);
      break;
    }
  }
}

}  // namespace ringcomm::inline v0::diag
