// SPDX-License-Identifier: Apache-2.0
// A rank that is alive and simply late: its application lines move while the others wait.
#include <algorithm>
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "diag/explain/other_work.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// Ranks that report a timeout, and those below the world's size that do not.
struct Roll {
  std::set<int> waiting, silent;
};

Roll roll_of(const SideEvidence& side) {
  Roll roll;
  int highest = kUnknown;
  const auto note = [&](const Who& who, const std::string& group) {
    const int rank = side.rank_of(who, group);
    if (rank == kUnknown) return;
    roll.waiting.insert(rank);
    highest = std::max(highest, rank);
  };
  for (const EventFact* event : side.of(EventKind::timeout)) note(event->who, event->group);
  for (const OpFact& op : side.evidence().ops) {
    if (op.is_timed_out) note(op.who, op.group);
  }
  const int world = std::max(side.picture().world_size.value_or(0), highest + 1);
  // Silence of many is no sign: their logs are just not there.
  if (static_cast<std::size_t>(world) > roll.waiting.size() * 2) return roll;
  for (int rank = 0; rank < world; ++rank) {
    if (roll.waiting.count(rank) == 0) roll.silent.insert(rank);
  }
  return roll;
}

}  // namespace

void explain_stragglers(const SideEvidence& side, std::vector<Candidate>& out) {
  if (!side.has(EventKind::progress)) return;
  const Roll roll = roll_of(side);
  if (roll.waiting.size() < 2 || roll.silent.empty()) return;
  std::set<int> late;
  const EventFact* last = nullptr;
  for (const EventFact* event : side.of(EventKind::progress)) {
    int rank = side.rank_of(event->who, event->group);
    // A bar without a rank is of the main process: of the one that does not wait.
    if (rank == kUnknown && roll.silent.size() == 1 && is_other_work(*event)) rank = *roll.silent.begin();
    if (roll.silent.count(rank) == 0) continue;
    late.insert(rank);
    last = event;
  }
  if (last == nullptr) return;
  Candidate candidate = candidate_of(side, FaultKind::rank_not_entered, Grade::likely, Weight::strong,
                                     "application_line", last, "alive, at other work");
  Verdict& verdict = candidate.verdict;
  std::vector<std::string> labels;
  for (const int rank : late) labels.push_back(std::to_string(rank));
  verdict.culprits = sorted_labels(labels);
  labels.clear();
  for (const int rank : roll.waiting) labels.push_back(std::to_string(rank));
  verdict.victims = sorted_labels(std::move(labels));
  verdict.ranks_without_evidence = {};
  verdict.title = concat(text_of_labels(verdict.culprits), " is at other work (",
                         last->detail.empty() ? std::string_view(last->text).substr(0, 60) : last->detail,
                         ") while ", roll.waiting.size(), " ranks wait");
  verdict.why = {concat(roll.waiting.size(), " ranks report a timeout; ", text_of_labels(verdict.culprits),
                        " reports none, and an application line shows it moving."),
                 "It is late, not deadlocked: the section takes longer than the timeout of the group."};
  verdict.counter_check = "A second look at the same line would show whether it still moves.";
  verdict.fix =
      "Do that work once beforehand (cache the result), use an asynchronous checkpoint, or raise the group's "
      "timeout above it (init_process_group(timeout=...), ddp_timeout) or use a Gloo group for that barrier.";
  set_place(verdict, side.stuck_place());
  out.push_back(std::move(candidate));
}

}  // namespace ringcomm::inline v0::diag
