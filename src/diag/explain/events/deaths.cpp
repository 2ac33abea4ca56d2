// SPDX-License-Identifier: Apache-2.0
// A process is gone: exit by a signal, the kernel's OOM killer, a segmentation fault; or, with less
// certainty, peers that all lost the connection to one host.
#include <algorithm>
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// Exit codes of signals: -9 as Python prints it, 137 as shells do.
int signal_of(std::int64_t code) {
  if (code < 0 && code >= -64) return static_cast<int>(-code);
  if (code > 128 && code <= 128 + 64) return static_cast<int>(code - 128);
  return 0;
}

bool is_sent_by_launcher(int signal) { return signal == 1 || signal == 2 || signal == 15; }

/// The launcher kills what is left after a failure, and a watchdog aborts its own process.
bool is_consequence(const SideEvidence& side, const EventFact& event) {
  const int signal = signal_of(event.code);
  if (is_sent_by_launcher(signal)) return true;
  if (signal == 6) return side.has(EventKind::timeout) || side.has(EventKind::async_error);
  return side.has_before(EventKind::timeout, event) || side.has_before(EventKind::exception, event);
}

struct Death {
  const EventFact* event = nullptr;
  std::string label;
  std::string how;  ///< "was killed for memory"
};

std::string how_by_signal(int signal) {
  switch (signal) {
    case 9:
      return "was killed by SIGKILL";
    case 11:
      return "ended by a segmentation fault (SIGSEGV)";
    case 7:
      return "ended by a bus error (SIGBUS; often a full /dev/shm)";
    case 6:
      return "aborted (SIGABRT)";
    default:
      return concat("ended by signal ", signal);
  }
}

/// The launcher says of this one that it failed first.
bool is_marked_first(const EventFact& event) {
  return has_text(event.detail, "first") || has_text(event.detail, "root");
}

/// Files in which a launcher names its first failure: what else it lists there came later, by its own clock.
std::set<std::int32_t> files_with_a_first(const SideEvidence& side) {
  std::set<std::int32_t> files;
  for (const EventFact* event : side.of(EventKind::exit_code)) {
    if (is_marked_first(*event)) files.insert(event->source.file);
  }
  return files;
}

std::vector<Death> deaths_of(const SideEvidence& side) {
  std::vector<Death> deaths;
  const std::set<std::int32_t> has_first = files_with_a_first(side);
  for (const EventFact* event : side.of(EventKind::oom_kill)) {
    deaths.push_back({event, side.label_of(event->who), "was killed by the kernel for memory"});
  }
  for (const EventFact* event : side.of(EventKind::segfault)) {
    deaths.push_back({event, side.label_of(event->who), "ended by a segmentation fault"});
  }
  for (const EventFact* event : side.of(EventKind::exit_code)) {
    const int signal = signal_of(event->code);
    if (signal == 0 || is_consequence(side, *event)) continue;
    if (!is_marked_first(*event) && has_first.count(event->source.file) != 0) continue;
    deaths.push_back({event, side.label_of(event->who), how_by_signal(signal)});
  }
  return deaths;
}

/// A crash, or what the kernel did, told of a rank by its number.
bool is_told_crash(const Death& death) {
  const int signal = signal_of(death.event->code);
  const bool is_crash =
      death.event->kind != EventKind::exit_code || signal == 11 || signal == 7 || signal == 4 || signal == 8;
  return is_crash && !death.label.empty() && death.label.find_first_not_of("0123456789") == std::string::npos;
}

/// A launcher ends what is left with SIGKILL, often without a time: beside another rank's crash that is all
/// it tells.
void drop_ended_by_launcher(std::vector<Death>& deaths) {
  const auto crash = std::find_if(deaths.begin(), deaths.end(), is_told_crash);
  if (crash == deaths.end()) return;
  std::set<std::string> crashed;
  for (const Death& death : deaths) {
    if (is_told_crash(death)) crashed.insert(death.label);
  }
  const EventFact* const event = crash->event;
  std::erase_if(deaths, [&](const Death& death) {
    return death.event->kind == EventKind::exit_code && signal_of(death.event->code) == 9 &&
           crashed.count(death.label) == 0 && !is_before(*death.event, *event);
  });
}

/// Only the first: a launcher reports others that it killed itself a moment later with the same code.
std::vector<Death> first_deaths(std::vector<Death> deaths) {
  constexpr std::size_t kMost = 1024;  // each is compared with each
  drop_ended_by_launcher(deaths);
  if (deaths.size() > kMost) deaths.resize(kMost);
  std::vector<Death> first;
  for (const Death& death : deaths) {
    const bool is_later = std::any_of(deaths.begin(), deaths.end(), [&death](const Death& other) {
      return other.label != death.label && is_before(*other.event, *death.event, kSecond);
    });
    if (!is_later) first.push_back(death);
  }
  const auto is_marked = [](const Death& death) { return is_marked_first(*death.event); };
  std::set<std::string> marked;
  for (const Death& death : first) {
    if (is_marked(death)) marked.insert(death.label);
  }
  const auto is_kernels = [](const Death& death) { return death.event->kind != EventKind::exit_code; };
  if (!marked.empty()) {
    first.erase(std::remove_if(
                    first.begin(), first.end(),
                    [&](const Death& death) { return marked.count(death.label) == 0 && !is_kernels(death); }),
                first.end());
  }
  return first;
}

/// All ranks at once: somebody ended the job.
bool are_all(const SideEvidence& side, const std::vector<std::string>& labels) {
  const auto world = side.picture().world_size;
  const std::size_t known =
      world ? static_cast<std::size_t>(std::max(*world, 0)) : side.picture().ranks.size();
  return labels.size() >= 2 && labels.size() >= known;
}

std::string fix_for(const std::vector<Death>& deaths) {
  const auto is_memory = [](const Death& death) { return death.event->kind == EventKind::oom_kill; };
  if (std::any_of(deaths.begin(), deaths.end(), is_memory)) {
    return "The kernel killed the process for memory: raise the memory limit of its cgroup or container, or "
           "use "
           "fewer data-loader workers and smaller host buffers. Errors of the other ranks are consequences.";
  }
  return {};
}

/// The only rank of the job that no line is of.
std::string only_silent_rank(const SideEvidence& side) {
  std::string silent;
  std::size_t known = 0;
  for (const RankPicture& rank : side.picture().ranks) {
    if (rank.who.rank == kUnknown) return {};
    if (rank.has_evidence) {
      ++known;
    } else if (silent.empty()) {
      silent = rank.label;
    } else {
      return {};
    }
  }
  const auto world = side.picture().world_size;
  return world && known + 1 == static_cast<std::size_t>(std::max(*world, 0)) ? silent : std::string();
}

void explain_lost_peers(const SideEvidence& side, std::vector<Candidate>& out) {
  // Closed connections after a timeout, or beside a Gloo timeout, are how the others leave.
  if (side.has(EventKind::timeout) || has_gloo_timeout(side)) return;
  std::set<std::string> reporters;
  std::set<std::string> places;
  const EventFact* first = nullptr;
  std::set<std::string> peers;
  for (const EventKind kind : {EventKind::peer_closed, EventKind::async_error}) {
    for (const EventFact* event : side.of(kind)) {
      const std::string place = event->peer.host.empty() ? event->peer.address : event->peer.host;
      if (place.empty()) continue;
      if (first == nullptr) first = event;
      reporters.insert(side.label_of(event->who, event->group));
      places.insert(place);
      peers.insert(side.label_of(event->peer));
    }
  }
  if (first == nullptr || places.size() != 1) return;
  const bool is_agreed = reporters.size() >= 2;
  Candidate candidate = candidate_of(side, FaultKind::rank_died, is_agreed ? Grade::likely : Grade::possible,
                                     is_agreed ? Weight::strong : Weight::ordinary, "lost_peer", first,
                                     "a peer's end of the connection closed");
  Verdict& verdict = candidate.verdict;
  const std::string silent = is_agreed ? only_silent_rank(side) : std::string();
  if (silent.empty()) {
    verdict.suspects = sorted_labels({peers.begin(), peers.end()});
  } else {
    verdict.culprits = {silent};
  }
  verdict.victims = side.others(silent.empty() ? verdict.suspects : verdict.culprits);
  verdict.title = concat("A process on ", *places.begin(), " went away: ", reporters.size(),
                         reporters.size() == 1 ? " peer" : " peers", " lost the connection to it");
  verdict.why = {
      "No line of the lost process itself is in the evidence; the errors of its peers are "
      "consequences."};
  verdict.counter_check = "A broken network to that host would look the same from the peers' side.";
  set_place(verdict, side.stuck_place());
  out.push_back(std::move(candidate));
}

}  // namespace

void explain_deaths(const SideEvidence& side, std::vector<Candidate>& out) {
  const std::vector<Death> deaths = first_deaths(deaths_of(side));
  if (deaths.empty()) {
    explain_lost_peers(side, out);
    return;
  }
  std::vector<std::string> labels;
  labels.reserve(deaths.size());
  for (const Death& death : deaths) labels.push_back(death.label);
  labels = sorted_labels(std::move(labels));
  const bool is_whole_job = are_all(side, labels);
  const bool is_named = !labels.empty();
  const Grade grade = is_whole_job ? Grade::possible : is_named ? Grade::certain : Grade::likely;
  Candidate candidate =
      candidate_of(side, FaultKind::rank_died, grade, is_whole_job ? Weight::ordinary : Weight::root,
                   "process_ended", deaths.front().event, deaths.front().how);
  Verdict& verdict = candidate.verdict;
  for (std::size_t i = 1; i < deaths.size(); ++i) {
    add_quote(side, verdict, deaths[i].event->source, deaths[i].event->text, deaths[i].how);
  }
  (is_whole_job ? verdict.suspects : verdict.culprits) = labels;
  if (!is_whole_job) verdict.victims = side.others(labels);
  const std::string who = text_of_labels(labels);
  verdict.title =
      is_whole_job
          ? std::string("All processes ended at once: somebody or something ended the job")
          : concat(who.starts_with("process ") ? "The " : "The process of ", who, ' ', deaths.front().how);
  for (const Death& death : deaths) {
    verdict.why.push_back(
        concat(death.label.empty() ? "a process" : text_of_labels({death.label}), ' ', death.how));
  }
  for (const EventKind kind : {EventKind::peer_closed, EventKind::async_error}) {
    for (const EventFact* event : side.of(kind)) {
      add_quote(side, verdict, event->source, event->text, "a consequence: the other end closed");
    }
  }
  verdict.fix = fix_for(deaths);
  set_place(verdict, side.stuck_place());
  out.push_back(std::move(candidate));
}

}  // namespace ringcomm::inline v0::diag
