// SPDX-License-Identifier: Apache-2.0
// Processes that the RAS network misses, and processes that are known to be stopped.
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

struct Absence {
  std::vector<const EventFact*> events;
  std::vector<std::string> labels;
};

/// RAS lists garbage at times (nccl#1762): a rank nobody knows, of no process, on no host.
bool is_garbage(const EventFact& event) {
  const Who& who = event.who;
  return who.pid == kUnknown && who.host.empty() && who.address.empty() && who.rank == kUnknown;
}

/// One process is listed by itself and once in each communicator; the fullest name of it stays.
Absence absence_of(const SideEvidence& side, const std::vector<const EventFact*>& events) {
  Absence absence;
  std::map<std::string, std::string> label_by_process;
  for (const EventFact* event : events) {
    if (is_garbage(*event)) continue;
    absence.events.push_back(event);
    const std::string label = side.label_of(event->who, event->group);
    const std::string process =
        event->who.pid == kUnknown ? label : concat(event->who.pid, ' ', event->who.host, event->who.address);
    std::string& best = label_by_process[process];
    const bool is_rank = side.rank_of(event->who, event->group) != kUnknown;
    if (best.empty() || is_rank || (best.size() < label.size() && best.size() > 9)) best = label;
  }
  for (auto& [process, label] : label_by_process) absence.labels.push_back(std::move(label));
  absence.labels = sorted_labels(std::move(absence.labels));
  return absence;
}

std::string group_of(const SideEvidence& side, const Absence& absence) {
  for (const EventFact* event : absence.events) {
    if (event->group.empty()) continue;
    const int index = side.picture().group_of(event->who, event->source, event->group);
    return index == kUnknown ? event->group : side.picture().groups[static_cast<std::size_t>(index)].label;
  }
  return {};
}

void add(const SideEvidence& side, std::vector<Candidate>& out, const Absence& absence, FaultKind kind,
         Grade grade, std::string_view rule, std::string_view what) {
  if (absence.events.empty()) return;
  Candidate candidate = candidate_of(side, kind, grade, Weight::strong, rule, absence.events.front(), what);
  Verdict& verdict = candidate.verdict;
  for (std::size_t i = 1; i < absence.events.size(); ++i) {
    add_quote(side, verdict, absence.events[i]->source, absence.events[i]->text);
  }
  verdict.culprits = absence.labels;
  verdict.victims = side.others(absence.labels);
  verdict.title = concat(text_of_labels(absence.labels), ' ', what);
  verdict.why = {concat(text_of_labels(absence.labels), ' ', what,
                        "; the others wait for it in whatever they call next")};
  verdict.counter_check =
      "A process that is stopped, that waits for I/O or that cannot be reached looks the same as a dead one; "
      "its state on its host tells.";
  verdict.group = group_of(side, absence);
  out.push_back(std::move(candidate));
}

}  // namespace

void explain_ras_absences(const SideEvidence& side, std::vector<Candidate>& out) {
  const Absence stopped = absence_of(side, side.of(EventKind::stopped));
  add(side, out, stopped, FaultKind::rank_unresponsive, Grade::likely, "process_stopped", "is stopped");
  const Absence dead = absence_of(side, side.of(EventKind::considered_dead));
  add(side, out, dead, FaultKind::rank_died, Grade::likely, "ras_dead", "is considered dead by RAS");
  if (!dead.events.empty() || !stopped.events.empty()) return;
  const Absence silent = absence_of(side, side.of(EventKind::unresponsive));
  add(side, out, silent, FaultKind::rank_unresponsive, Grade::likely, "ras_unresponsive",
      "does not answer RAS, though its process is not known to be dead");
  if (!silent.events.empty()) return;
  const Absence missing = absence_of(side, side.of(EventKind::missing_process));
  add(side, out, missing, FaultKind::rank_died, Grade::likely, "ras_missing",
      "is missing from what RAS collected: dead, stopped, or out of reach");
}

}  // namespace ringcomm::inline v0::diag
