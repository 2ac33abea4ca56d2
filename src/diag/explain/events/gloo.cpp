// SPDX-License-Identifier: Apache-2.0
// Gloo prints neither the group nor the rank that it waited for: what can be said is who waited.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

bool is_gloo(const EventFact& event) {
  return has_text(event.text, "gloo") || has_text(event.detail, "gloo") ||
         (has_text(event.text, "Timed out waiting") && has_text(event.text, "operation to complete"));
}

/// "recv" of "Timed out waiting 1800000ms for recv operation to complete".
std::string_view direction_of(std::string_view text) { return has_text(text, "for send") ? "send" : "recv"; }

/// "Rank 4 failed to pass monitoredBarrier": the only lines of a CPU collective that name somebody.
bool explain_monitored_barrier(const SideEvidence& side, std::vector<Candidate>& out) {
  std::set<std::string> missing, waiting;
  const EventFact* first = nullptr;
  for (const EventFact* event : side.of(EventKind::timeout)) {
    if (event->detail != "monitored_barrier" || event->peer.rank == kUnknown) continue;
    if (first == nullptr) first = event;
    missing.insert(side.label_of(event->peer));
    waiting.insert(side.label_of(event->who, event->group));
  }
  if (first == nullptr) return false;
  // One that names itself, or is in an operation of its own, may wait for the other side in another group.
  bool is_waiting = std::any_of(missing.begin(), missing.end(),
                                [&waiting](const std::string& label) { return waiting.count(label) != 0; });
  for (const OpFact& op : side.evidence().ops) {
    is_waiting =
        is_waiting || (op.completed == Tri::no && missing.count(side.label_of(op.who, op.group)) != 0);
  }
  Candidate candidate = candidate_of(side, FaultKind::rank_not_entered, Grade::possible, Weight::ordinary,
                                     "monitored_barrier", first, "names who did not come");
  Verdict& verdict = candidate.verdict;
  (is_waiting ? verdict.suspects : verdict.culprits) = sorted_labels({missing.begin(), missing.end()});
  verdict.victims = sorted_labels({waiting.begin(), waiting.end()});
  const std::string who = text_of_labels(is_waiting ? verdict.suspects : verdict.culprits);
  verdict.title = concat(who, " did not come to a monitored barrier");
  verdict.why = {concat("The barrier itself names ", who, " as missing when its time was up.")};
  verdict.counter_check = "A rank that waits in another group is named as well: its own stack or log tells.";
  verdict.op = "monitored_barrier";
  out.push_back(std::move(candidate));
  return true;
}

constexpr std::array<EventKind, 3> kTold{EventKind::timeout, EventKind::exception, EventKind::other};

bool is_timeout(const EventFact& event) { return is_gloo(event) && has_text(event.text, "Timed out"); }

}  // namespace

bool has_gloo_timeout(const SideEvidence& side) {
  return std::any_of(kTold.begin(), kTold.end(), [&side](EventKind kind) {
    const auto& events = side.of(kind);
    return std::any_of(events.begin(), events.end(),
                       [](const EventFact* event) { return is_timeout(*event); });
  });
}

void explain_gloo(const SideEvidence& side, std::vector<Candidate>& out) {
  if (explain_monitored_barrier(side, out)) return;
  std::set<std::string> labels;
  const EventFact* first = nullptr;
  for (const EventKind kind : kTold) {
    for (const EventFact* event : side.of(kind)) {
      if (!is_timeout(*event)) continue;
      if (first == nullptr) first = event;
      labels.insert(side.label_of(event->who, event->group));
    }
  }
  if (first == nullptr) return;
  Candidate candidate =
      candidate_of(side, FaultKind::insufficient_evidence, Grade::cannot_tell, Weight::ordinary,
                   "gloo_timeout", first, "waited; for whom is not printed");
  Verdict& verdict = candidate.verdict;
  for (const EventFact* event : side.of(EventKind::peer_closed)) {
    if (!is_gloo(*event)) continue;
    add_quote(side, verdict, event->source, event->text, "a consequence: the ones that timed out left");
    labels.insert(side.label_of(event->who, event->group));
  }
  verdict.victims = sorted_labels({labels.begin(), labels.end()});
  verdict.group = "a gloo group";
  verdict.op = concat(direction_of(first->text), " inside a gloo collective");
  verdict.title = "Somebody did not make a CPU collective; Gloo's lines do not say who";
  verdict.why = {"Gloo prints neither the group nor the rank that it waited for.",
                 "Connections closed by a peer are what others see when those that timed out end."};
  verdict.fix =
      "Name the missing rank first: torch.distributed.monitored_barrier on that group, or py-spy dump of all "
      "ranks while it hangs; newer Gloo prints local and remote rank.";
  verdict.collect = {
      "torch.distributed.monitored_barrier(group, timeout)   # names the ranks that are missing",
      "py-spy dump --native --pid PID   # on every rank while it hangs"};
  out.push_back(std::move(candidate));
}

}  // namespace ringcomm::inline v0::diag
