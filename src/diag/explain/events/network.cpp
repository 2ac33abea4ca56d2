// SPDX-License-Identifier: Apache-2.0
// Completion errors and port events of InfiniBand and RoCE. Status 5 is the flush of a queue that failed
// before: the first other one counts.
#include <algorithm>
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::int64_t kLocalProtection = 4;
constexpr std::int64_t kFlush = 5;

std::string_view meaning_of(std::int64_t status) {
  switch (status) {
    case 1:
      return "local length error";
    case 2:
      return "local queue-pair error";
    case kLocalProtection:
      return "local protection error: the card may not read the registered memory";
    case kFlush:
      return "flush of a queue that had failed before";
    case 9:
      return "the peer calls the request invalid";
    case 10:
      return "the peer refuses the access";
    case 11:
      return "the peer's operation failed";
    case 12:
      return "transport retries ran out: the peer did not answer";
    case 13:
      return "the peer was never ready to receive";
    default:
      return "completion error";
  }
}

std::string end_text(const SideEvidence& side, const Who& who, std::string_view gid) {
  std::string text = who.host.empty() ? who.address : who.host;
  if (text.empty()) text = side.label_of(who);
  if (text == gid) gid = {};
  const std::string gpu = who.gpu == kUnknown ? std::string() : concat("GPU ", who.gpu);
  if (gid.empty() && gpu.empty()) return text;
  return concat(text, " (", gid, gid.empty() || gpu.empty() ? "" : ", ", gpu, ')');
}

std::vector<std::string> hosts_of(const std::vector<const EventFact*>& events) {
  std::vector<std::string> hosts;
  for (const EventFact* event : events) hosts.push_back(event->who.host);
  return sorted_labels(std::move(hosts));
}

void explain_registration(const SideEvidence& side, const std::vector<const EventFact*>& events,
                          std::vector<Candidate>& out) {
  const std::vector<std::string> hosts = hosts_of(events);
  Candidate candidate = candidate_of(side, FaultKind::net_config, Grade::likely, Weight::strong,
                                     "local_protection", events.front(), meaning_of(events.front()->code));
  Verdict& verdict = candidate.verdict;
  for (std::size_t i = 1; i < events.size(); ++i) {
    add_quote(side, verdict, events[i]->source, events[i]->text);
  }
  for (const std::string& host : hosts) verdict.suspects.push_back(concat(host, ": memory registration"));
  verdict.title = concat("The network cards of ", hosts.empty() ? "the senders" : text_of_labels(hosts),
                         " may not read the memory that was registered for them");
  verdict.why = {concat(events.size(), " local errors on ", hosts.size(),
                        " hosts: the fault is on the senders themselves, not on one link or one peer.")};
  verdict.fix =
      "Check nvidia-peermem or dma-buf support and its version on all hosts, IOMMU and ACS settings; probe "
      "with "
      "NCCL_NET_GDR_LEVEL=LOC (GPUDirect off): if that runs, registration for GPUDirect is at fault.";
  out.push_back(std::move(candidate));
}

void explain_port(const SideEvidence& side, const EventFact& event, std::vector<Candidate>& out) {
  Candidate candidate = candidate_of(side, FaultKind::network_fault, Grade::likely, Weight::strong,
                                     "port_event", &event, "the local port, before any completion error");
  Verdict& verdict = candidate.verdict;
  verdict.suspects = sorted_labels({concat("port of ", end_text(side, event.who, {}))});
  verdict.title =
      concat("A network port of ", event.who.host.empty() ? std::string("one host") : event.who.host,
             " reported an error");
  verdict.why = {concat("The port's event comes before the first completion error: ", event.text)};
  for (const EventFact* completion : side.of(EventKind::ib_completion)) {
    add_quote(side, verdict, completion->source, completion->text, "a consequence");
  }
  set_place(verdict, side.stuck_place());
  out.push_back(std::move(candidate));
}

void explain_path(const SideEvidence& side, const std::vector<const EventFact*>& events,
                  std::vector<Candidate>& out) {
  const EventFact& first = *events.front();
  Candidate candidate = candidate_of(side, FaultKind::network_fault, Grade::likely, Weight::strong,
                                     "first_completion_error", &first, meaning_of(first.code));
  Verdict& verdict = candidate.verdict;
  for (const EventFact* event : side.of(EventKind::ib_completion)) {
    if (event == &first) continue;
    add_quote(side, verdict, event->source, event->text,
              event->code == kFlush ? "a consequence: flush of the same queue" : "later");
  }
  const std::string here = end_text(side, first.who, first.who.address);
  const std::string there = end_text(side, first.peer, first.peer.name);
  verdict.suspects = {concat("link between ", here, " and peer ", there)};
  verdict.victims = side.others({});
  verdict.title = concat("The path between ", here, " and ", there, " failed: ", meaning_of(first.code),
                         " (status ", first.code, ')');
  verdict.why = {concat("The first completion error that is no flush has status ", first.code, ": ",
                        meaning_of(first.code), '.')};
  verdict.counter_check = "A peer whose process ended first looks the same: its own log and exit code tell.";
  set_place(verdict, side.stuck_place());
  out.push_back(std::move(candidate));
}

/// The line that matters is not in the evidence.
void explain_flushes(const SideEvidence& side, const EventFact& first, std::vector<Candidate>& out) {
  Candidate candidate =
      candidate_of(side, FaultKind::insufficient_evidence, Grade::cannot_tell, Weight::ordinary,
                   "only_flushes", &first, "a consequence of an error that is not shown");
  Verdict& verdict = candidate.verdict;
  verdict.victims = side.others({});
  verdict.title = "Only flushed completions are shown: the first error of that queue is missing";
  verdict.why = {"Status 5 is always a consequence; the first error with another status names the cause."};
  verdict.fix =
      "Get the first completion error with a status other than 5: the logs of all ranks from before this "
      "line, and dmesg of both hosts.";
  verdict.collect = {"grep -h 'Got completion' *.log | grep -v 'status=5'   # over the logs of all ranks"};
  set_place(verdict, side.stuck_place());
  out.push_back(std::move(candidate));
}

}  // namespace

void explain_network(const SideEvidence& side, std::vector<Candidate>& out) {
  const auto& completions = side.of(EventKind::ib_completion);
  std::vector<const EventFact*> real;
  std::copy_if(completions.begin(), completions.end(), std::back_inserter(real),
               [](const EventFact* event) { return event->code != kFlush && event->code != 0; });
  for (const EventKind kind : {EventKind::port_error, EventKind::ib_async}) {
    for (const EventFact* event : side.of(kind)) {
      const bool is_port = kind == EventKind::port_error || has_text(event->text, "port error") ||
                           has_text(event->text, "fatal");
      if (!is_port || (!real.empty() && is_before(*real.front(), *event))) continue;
      explain_port(side, *event, out);
      return;
    }
  }
  if (real.empty()) {
    const auto& registrations = side.of(EventKind::registration_failed);
    if (!registrations.empty()) {
      explain_registration(side, registrations, out);
    } else if (!completions.empty()) {
      explain_flushes(side, *completions.front(), out);
    }
    return;
  }
  if (real.front()->code == kLocalProtection) {
    std::vector<const EventFact*> local;
    std::copy_if(real.begin(), real.end(), std::back_inserter(local),
                 [](const EventFact* event) { return event->code == kLocalProtection; });
    explain_registration(side, local, out);
    return;
  }
  explain_path(side, real, out);
}

}  // namespace ringcomm::inline v0::diag
