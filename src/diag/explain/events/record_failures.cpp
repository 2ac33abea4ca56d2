// SPDX-License-Identifier: Apache-2.0
// What ranks say in their own records of how they failed: a rotation given up, a peer that left or died.
#include <algorithm>
#include <utility>

#include "diag/evidence/record/record_words.hpp"
#include "diag/explain/events/side.hpp"
#include "diag/explain/groups/texts.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

std::vector<const EventFact*> with_detail(const SideEvidence& side, EventKind kind, std::string_view detail) {
  std::vector<const EventFact*> found = side.of(kind);
  std::erase_if(found, [detail](const EventFact* event) { return event->detail != detail; });
  if (found.size() > 1024) found.resize(1024);
  return found;
}

/// The newest call that this rank has open.
Place place_of(const SideEvidence& side, const Who& who) {
  const OpFact* newest = nullptr;
  for (const OpFact& op : side.evidence().ops) {
    if (op.completed != Tri::no || op.who.rank != who.rank) continue;
    if (newest == nullptr || newest->created_ns.value_or(0) < op.created_ns.value_or(0)) newest = &op;
  }
  if (newest == nullptr) return {};
  const int group = side.picture().group_of(newest->who, newest->source, newest->group);
  return {group == kUnknown ? newest->group : side.picture().groups[static_cast<std::size_t>(group)].label,
          op_name(*newest), seq_text(*newest)};
}

void tell_left_rotation(const SideEvidence& side, std::vector<Candidate>& out) {
  const auto left = with_detail(side, EventKind::aborted, kLeftRotation);
  if (left.empty()) return;
  Candidate candidate = candidate_of(side, FaultKind::ring_step_mismatch, Grade::certain, Weight::root,
                                     "left_rotation", left.front(), "its own words");
  Verdict& verdict = candidate.verdict;
  for (const EventFact* event : left) verdict.culprits.push_back(side.label_of(event->who));
  verdict.culprits = sorted_labels(std::move(verdict.culprits));
  verdict.victims = side.others(verdict.culprits);
  verdict.title = concat(text_of_labels(verdict.culprits),
                         " left the ring loop before its last step, while the others wait for the rest");
  verdict.why = {
      "A ring has as many steps as ranks on every rank; a loop that ends earlier takes the blocks "
      "that it should pass on with it."};
  verdict.counter_check = "A slow rank would still be inside the call.";
  set_place(verdict, place_of(side, left.front()->who));
  out.push_back(std::move(candidate));
}

void tell_lost(const SideEvidence& side, std::string_view detail, FaultKind kind, Weight weight,
               std::string_view rule, std::string_view what, std::vector<Candidate>& out) {
  const auto lost = with_detail(side, EventKind::peer_closed, detail);
  std::vector<std::string> labels;
  for (const EventFact* event : lost) labels.push_back(side.label_of(event->peer));
  labels = sorted_labels(std::move(labels));
  if (labels.empty()) return;
  Candidate candidate =
      candidate_of(side, kind, Grade::certain, weight, rule, lost.front(), "what its peers were told");
  Verdict& verdict = candidate.verdict;
  for (const EventFact* event : lost) {
    if (event != lost.front() && verdict.evidence.size() < 8)
      add_quote(side, verdict, event->source, event->text);
  }
  verdict.culprits = labels;
  verdict.victims = side.others(labels);
  verdict.title = concat(text_of_labels(labels), ' ', what);
  verdict.why = {concat(lost.size(), lost.size() == 1 ? " rank depends" : " ranks depend", " on ",
                        text_of_labels(labels), ", which ", what, '.')};
  set_place(verdict, place_of(side, lost.front()->who));
  out.push_back(std::move(candidate));
}

}  // namespace

void explain_record_failures(const SideEvidence& side, std::vector<Candidate>& out) {
  tell_left_rotation(side, out);
  // A process that died has not left in order: its own host, or an exception of its own, weighs more.
  tell_lost(side, kPeerDied, FaultKind::rank_died, Weight::strong, "peer_died",
            "died: its process ended without leaving the group", out);
  tell_lost(side, kLeftGroup, FaultKind::teardown_hang, Weight::root, "left_group",
            "destroyed its communicator while others still call it", out);
  tell_lost(side, kTookBack, FaultKind::slot_reuse, Weight::root, "took_back",
            "freed or wrote memory that it had offered before its reader had released it", out);
}

}  // namespace ringcomm::inline v0::diag
