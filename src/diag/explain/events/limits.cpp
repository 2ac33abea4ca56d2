// SPDX-License-Identifier: Apache-2.0
// A limit was too small: shared memory, locked memory, open files, GPU memory at start.
#include <algorithm>
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

struct Limit {
  std::string_view rule;
  std::string_view what;  ///< "/dev/shm is too small"
  std::string_view fix;
  bool is_of_host = false;  ///< no rank is to blame for it
};

constexpr Limit kShm{
    "shm_failed", "could not make its shared-memory segment: /dev/shm is too small",
    "Enlarge /dev/shm: docker --shm-size=8g or --ipc=host, in Kubernetes an emptyDir with medium "
    "Memory on /dev/shm; remove stale /dev/shm/nccl-* files.",
    false};
constexpr Limit kMemlock{"memlock_failed",
                         "may not lock memory for the network card (limit of locked memory)",
                         "Raise the limit of locked memory: ulimit -l unlimited, docker --ulimit memlock=-1, "
                         "systemd LimitMEMLOCK=infinity, in Slurm PropagateResourceLimits; then look at the "
                         "card's own limits (log_num_cq).",
                         true};
constexpr Limit kGpuMemory{
    "gpu_memory", "ran out of GPU memory while its communicator was made",
    "Free GPU memory before communicators are made: create them before big allocations, "
    "lower the framework's memory fraction, use fewer channels (NCCL_MAX_NCHANNELS) or a "
    "smaller NCCL_BUFFSIZE.",
    false};
constexpr Limit kFiles{
    "open_files", "has no file descriptor left",
    "Raise the limit of open files: ulimit -n 65536, docker --ulimit nofile=65536, systemd "
    "LimitNOFILE=65536.",
    false};

bool is_of_files(const EventFact& event) {
  return has_text(event.text, "Too many open files") || has_text(event.text, "EMFILE");
}

/// The library's own words where a communicator starts; a training step that runs out of memory raises an
/// exception instead.
bool is_at_start(const SideEvidence& side) {
  const auto& codes = side.of(EventKind::return_code);
  const bool is_in_chain = std::any_of(codes.begin(), codes.end(), [](const EventFact* event) {
    return has_text(event->text, "init.cc") || has_text(event->text, "transport") ||
           has_text(event->text, "Async thread") || has_text(event->text, "bootstrap");
  });
  return is_in_chain || !side.has(EventKind::timeout);
}

void add(const SideEvidence& side, std::vector<Candidate>& out, const Limit& limit,
         const std::vector<const EventFact*>& events) {
  if (events.empty()) return;
  std::vector<std::string> labels;
  std::vector<std::string> hosts;
  std::set<int> devices;
  for (const EventFact* event : events) {
    labels.push_back(side.label_of(event->who, event->group));
    hosts.push_back(event->who.host.empty() ? std::string("one host") : event->who.host);
    devices.insert(event->who.gpu);
  }
  const Grade grade = limit.is_of_host ? Grade::likely : Grade::certain;
  Candidate candidate = candidate_of(side, FaultKind::resource_limit, grade, Weight::root, limit.rule,
                                     events.front(), "the first error");
  Verdict& verdict = candidate.verdict;
  for (std::size_t i = 1; i < events.size(); ++i) {
    add_quote(side, verdict, events[i]->source, events[i]->text);
  }
  labels = sorted_labels(std::move(labels));
  hosts = sorted_labels(std::move(hosts));
  if (limit.is_of_host) {
    for (const std::string& host : hosts)
      verdict.suspects.push_back(concat(host, ": limit of locked memory"));
    verdict.title = concat(text_of_labels(hosts), " (", devices.size(), " devices) ", limit.what);
  } else {
    verdict.culprits = labels;
    verdict.title = concat(text_of_labels(labels), ' ', limit.what);
  }
  verdict.victims = side.others(labels);
  verdict.why = {concat("The first error is of the system, on ", events.size(), " lines: ", limit.what, '.')};
  for (const EventFact* event : side.of(EventKind::peer_closed)) {
    add_quote(side, verdict, event->source, event->text, "a consequence: the other end gave up");
  }
  verdict.fix = limit.fix;
  verdict.op = "ncclCommInitRank";
  out.push_back(std::move(candidate));
}

}  // namespace

void explain_limits(const SideEvidence& side, std::vector<Candidate>& out) {
  add(side, out, kShm, side.of(EventKind::shm_failed));
  add(side, out, kMemlock, side.of(EventKind::memlock_failed));
  std::vector<const EventFact*> memory;
  for (const EventFact* event : side.of(EventKind::cuda_oom)) {
    // A framework's exception is of the training step.
    const bool is_exception =
        has_text(event->text, "OutOfMemoryError") || has_text(event->text, "CUDA out of memory");
    if (!is_exception && is_at_start(side)) memory.push_back(event);
  }
  add(side, out, kGpuMemory, memory);
  std::vector<const EventFact*> files;
  for (const EventKind kind : {EventKind::system_error, EventKind::exception, EventKind::other}) {
    for (const EventFact* event : side.of(kind)) {
      if (is_of_files(*event)) files.push_back(event);
    }
  }
  add(side, out, kFiles, files);
}

}  // namespace ringcomm::inline v0::diag
