// SPDX-License-Identifier: Apache-2.0
// Processes that the RAS network misses, and processes that are known to be stopped.
#include <algorithm>
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

/// The operating system's own word, from the reader of live records.
bool is_of_host(const EventFact& event) {
  return event.detail == "no such process" || event.detail == "has ended (zombie)" ||
         event.detail == "state T";
}

/// Nobody has to guess what the process does: this outweighs what its peers wait for.
bool add_seen(const SideEvidence& side, std::vector<Candidate>& out, EventKind event_kind, FaultKind kind,
              std::string_view rule, std::string_view what) {
  std::vector<const EventFact*> seen = side.of(event_kind);
  std::erase_if(seen, [](const EventFact* event) { return !is_of_host(*event); });
  const Absence absence = absence_of(side, seen);
  if (absence.events.empty()) return false;
  add(side, out, absence, kind, Grade::certain, rule, what);
  Candidate& candidate = out.back();
  Verdict& verdict = candidate.verdict;
  set_place(verdict, side.stuck_place());
  verdict.counter_check = "The process table of the host says so; no timeout of a peer is needed to tell.";
  const auto world = side.picture().world_size;
  const bool are_all =
      world && absence.labels.size() >= 2 && absence.labels.size() >= static_cast<std::size_t>(*world);
  candidate.weight = are_all ? Weight::ordinary : Weight::root;
  if (!are_all) return true;
  verdict.grade = Grade::possible;
  verdict.suspects = std::move(verdict.culprits);
  verdict.culprits.clear();
  verdict.title = concat("Of the whole job every process ", what);
  return true;
}

}  // namespace

void explain_ras_absences(const SideEvidence& side, std::vector<Candidate>& out) {
  const bool has_dead = add_seen(side, out, EventKind::missing_process, FaultKind::rank_died, "process_gone",
                                 "has ended without closing its communicator");
  const bool has_stopped = add_seen(side, out, EventKind::stopped, FaultKind::rank_unresponsive,
                                    "process_seen_stopped", "is stopped (state T)");
  if (has_dead || has_stopped) return;
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
