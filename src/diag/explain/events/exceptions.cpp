// SPDX-License-Identifier: Apache-2.0
// A rank raised an exception of its own and left the step, before any timeout of its peers.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// What ranks raise because another one failed, and what a launcher raises about its children.
constexpr std::array<std::string_view, 24> kOfCommunication{
    "DistBackendError",     "DistNetworkError",
    "DistStoreError",       "NCCL error",
    "NCCL timeout",         "ncclRemoteError",
    "ncclSystemError",      "ncclInternalError",
    "Watchdog caught",      "Connection reset by peer",
    "Connection closed by", "Connection refused",
    "Broken pipe",          "Socket Timeout",
    "Socket closed",        "Timed out waiting",
    "Wait timeout",         "ChildFailedError",
    "SignalException",      "KeyboardInterrupt",
    "SystemExit",           "Rendezvous",
    "monitoredBarrier",     "gloo",
};

bool is_of_communication(const EventFact& event) {
  return std::any_of(kOfCommunication.begin(), kOfCommunication.end(), [&event](std::string_view word) {
    return has_text(event.detail, word) || has_text(event.text, word);
  });
}

/// Lines in which ranks complain of their peers: the first of each rank in each file.
using Complaints = std::map<std::pair<std::string, std::int32_t>, std::int32_t>;

Complaints complaints_of(const SideEvidence& side) {
  Complaints complaints;
  for (const EventKind kind : {EventKind::timeout, EventKind::async_error}) {
    for (const EventFact* event : side.of(kind)) {
      const auto [place, is_new] = complaints.try_emplace(
          {side.label_of(event->who, event->group), event->source.file}, event->source.line);
      if (!is_new) place->second = std::min(place->second, event->source.line);
    }
  }
  return complaints;
}

/// By the clock after anybody's timeout, or in one file after a complaint of the same rank: its exception is
/// how it left.
bool comes_after_a_timeout(const SideEvidence& side, const Complaints& complaints, const EventFact& event) {
  if (side.has_before(EventKind::timeout, event) || side.has_before(EventKind::async_error, event))
    return true;
  const auto found = complaints.find({side.label_of(event.who, event.group), event.source.file});
  return found != complaints.end() && found->second < event.source.line;
}

void explain_exit_by_error(const SideEvidence& side, std::vector<Candidate>& out) {
  if (side.has(EventKind::timeout) || side.has(EventKind::async_error) || side.has(EventKind::exception))
    return;
  std::vector<const EventFact*> exits;
  for (const EventFact* event : side.of(EventKind::exit_code)) {
    if (event->code > 0 && event->code <= 128) exits.push_back(event);
  }
  if (exits.empty()) return;
  const auto marked = std::find_if(exits.begin(), exits.end(), [](const EventFact* event) {
    return has_text(event->detail, "first") || has_text(event->detail, "root");
  });
  const EventFact* first = marked == exits.end() ? exits.front() : *marked;
  Candidate candidate = candidate_of(side, FaultKind::rank_exception, Grade::possible, Weight::strong,
                                     "exit_by_error", first, "the first process that ended with an error");
  Verdict& verdict = candidate.verdict;
  verdict.culprits = sorted_labels({side.label_of(first->who)});
  verdict.victims = side.others(verdict.culprits);
  verdict.title =
      concat("The process of ", text_of_labels(verdict.culprits), " ended with exit code ", first->code);
  verdict.why = {"Its own error is not in the evidence."};
  out.push_back(std::move(candidate));
}

}  // namespace

void explain_exceptions(const SideEvidence& side, std::vector<Candidate>& out) {
  explain_exit_by_error(side, out);
  const Complaints complaints = complaints_of(side);
  std::vector<const EventFact*> own;
  for (const EventFact* event : side.of(EventKind::exception)) {
    if (is_of_communication(*event) || comes_after_a_timeout(side, complaints, *event)) continue;
    own.push_back(event);
    if (own.size() >= 1024) break;  // more tracebacks than that tell nothing new
  }
  if (own.empty()) return;
  // Without the later ones, where clocks allow; the first of a file says more than what follows it.
  std::set<std::string> labels;
  const EventFact* first = nullptr;
  for (const EventFact* event : own) {
    const bool is_later = std::any_of(own.begin(), own.end(), [event](const EventFact* other) {
      const bool is_earlier_line = other->source.file == event->source.file &&
                                   other->source.line < event->source.line && !is_before(*event, *other);
      return is_before(*other, *event, 1'000'000'000) || is_earlier_line;
    });
    if (is_later) continue;
    if (first == nullptr) first = event;
    labels.insert(side.label_of(event->who, event->group));
  }
  if (first == nullptr) first = own.front();
  const std::vector<std::string> culprits = sorted_labels({labels.begin(), labels.end()});
  const bool is_named = !culprits.empty();
  const auto world = side.picture().world_size;
  const bool are_all = world && culprits.size() >= 2 && culprits.size() >= static_cast<std::size_t>(*world);
  Candidate candidate =
      candidate_of(side, FaultKind::rank_exception, is_named && !are_all ? Grade::certain : Grade::likely,
                   Weight::root, "own_exception", first, "raised before any timeout");
  Verdict& verdict = candidate.verdict;
  verdict.culprits = culprits;
  verdict.victims = side.others(culprits);
  verdict.title =
      concat(is_named ? text_of_labels(culprits) : std::string("a rank"), " raised ",
             first->detail.empty() ? std::string("an exception") : first->detail, " and left the step");
  verdict.why = {
      concat("The exception is its own, and no timeout or closed connection comes before it: ", first->text)};
  set_place(verdict, side.stuck_place());
  out.push_back(std::move(candidate));
}

}  // namespace ringcomm::inline v0::diag
