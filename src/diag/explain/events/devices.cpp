// SPDX-License-Identifier: Apache-2.0
// What the driver says of a GPU or an NVLink: Xid numbers, the first fatal one, and errors of CUDA calls that
// name hardware.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

enum class XidClass : std::uint8_t { consequence, program, memory, nvlink, device };

XidClass class_of(std::int64_t code) {
  if (code == 43 || code == 45 || code == 137) return XidClass::consequence;
  if (code == 13 || code == 31) return XidClass::program;
  if (code == 48 || code == 63 || code == 64 || code == 92 || code == 94 || code == 95 || code == 140 ||
      code == 171 || code == 172) {
    return XidClass::memory;
  }
  if (code == 74 || (code >= 144 && code <= 150)) return XidClass::nvlink;
  return XidClass::device;
}

std::string_view sentence_of_xid(std::int64_t code, XidClass kind) {
  if (code == 79) return "has fallen off the bus";
  switch (kind) {
    case XidClass::memory:
      return "has memory errors (ECC)";
    case XidClass::nvlink:
      return "reports an NVLink error";
    case XidClass::program:
      return "reports an illegal access of a program";
    default:
      return "reports an error";
  }
}

bool is_caused_by_another(const EventFact& event) {
  return class_of(event.code) == XidClass::consequence || has_text(event.text, "caused by previous");
}

bool is_fatal(const EventFact& event) {
  return has_text(event.text, "fatal") && !has_text(event.text, "nonfatal") &&
         !has_text(event.text, "non-fatal");
}

bool is_nonfatal(const EventFact& event) {
  return has_text(event.text, "nonfatal") || has_text(event.text, "non-fatal");
}

/// Fatal before unmarked before nonfatal; hardware before what a program can cause; then the earliest.
int urgency_of(const EventFact& event) {
  int urgency = is_fatal(event) ? 0 : is_nonfatal(event) ? 2 : 1;
  if (class_of(event.code) == XidClass::program) urgency += 3;
  return urgency;
}

/// The communicators that the named rank is a member of, where there is one only.
std::string group_of_rank(const SideEvidence& side, const Who& who) {
  const int index = side.index_of(who);
  if (index == kUnknown) return {};
  std::string label;
  for (const GroupPicture& group : side.picture().groups) {
    if (group.member_of(index) == kUnknown) continue;
    if (!label.empty()) return {};
    label = text_of(group);
  }
  return label;
}

void explain_xids(const SideEvidence& side, std::vector<Candidate>& out) {
  const auto& events = side.of(EventKind::xid);
  const EventFact* first = nullptr;
  for (const EventFact* event : events) {
    if (is_caused_by_another(*event)) continue;
    if (first == nullptr || urgency_of(*event) < urgency_of(*first)) first = event;
  }
  if (first == nullptr) return;
  const XidClass kind = class_of(first->code);
  const std::string label = side.label_of(first->who);
  const bool is_hardware = kind != XidClass::program;
  Candidate candidate =
      candidate_of(side, kind == XidClass::nvlink ? FaultKind::nvlink_fault : FaultKind::gpu_fault,
                   is_hardware ? Grade::likely : Grade::possible,
                   is_hardware ? Weight::root : Weight::ordinary, "first_xid", first,
                   is_fatal(*first) ? "the first fatal event" : "the first event that is no consequence");
  Verdict& verdict = candidate.verdict;
  std::vector<std::string> others;
  for (const EventFact* event : events) {
    if (event == first) continue;
    add_quote(side, verdict, event->source, event->text,
              is_caused_by_another(*event) ? "a consequence" : "later, or not fatal");
    const std::string other = side.label_of(event->who);
    if (other != label) others.push_back(other);
  }
  verdict.culprits = sorted_labels({label});
  for (std::string& other : side.others(verdict.culprits)) others.push_back(std::move(other));
  verdict.victims = sorted_labels(std::move(others));
  const bool is_named_by_bus = label.find(first->who.bus_id) != std::string::npos;
  const std::string bus = is_named_by_bus ? std::string() : concat(" at ", first->who.bus_id);
  verdict.title = concat(label.starts_with("GPU ") ? "" : "The GPU of ", text_of_labels(verdict.culprits),
                         bus, ' ', sentence_of_xid(first->code, kind), " (Xid ", first->code, ')');
  verdict.why = {concat("Xid ", first->code, " on ", text_of_labels(verdict.culprits),
                        " is the first that is no consequence of another one.")};
  if (!is_hardware) {
    verdict.counter_check = "A wrong address in a kernel of the program gives the same Xid.";
    verdict.fix =
        "Run the program of that rank under compute-sanitizer; if it is clean, test the GPU: dcgmi diag -r "
        "3.";
  }
  Place place = side.stuck_place();
  if (place.group.empty()) place.group = group_of_rank(side, first->who);
  set_place(verdict, std::move(place));
  out.push_back(std::move(candidate));
}

constexpr std::array<std::string_view, 7> kHardwareErrors{
    "uncorrectable ECC",  "GPU is lost",          "hardware error",  "fallen off the bus",
    "GPU requires reset", "uncorrectable NVLink", "device not ready"};

/// An NVLink or ECC line without an Xid, or a CUDA error that speaks of hardware.
void explain_other_errors(const SideEvidence& side, std::vector<Candidate>& out) {
  if (side.has(EventKind::xid)) return;
  const EventFact* first = nullptr;
  for (const EventKind kind : {EventKind::nvlink_error, EventKind::ecc_error, EventKind::cuda_error}) {
    for (const EventFact* event : side.of(kind)) {
      const bool is_hardware =
          kind != EventKind::cuda_error ||
          std::any_of(kHardwareErrors.begin(), kHardwareErrors.end(),
                      [event](std::string_view word) { return has_text(event->text, word); });
      if (!is_hardware) continue;
      if (first == nullptr || is_before(*event, *first)) first = event;
      break;
    }
  }
  if (first == nullptr) return;
  const bool is_link = first->kind == EventKind::nvlink_error || has_text(first->text, "nvlink");
  Candidate candidate =
      candidate_of(side, is_link ? FaultKind::nvlink_fault : FaultKind::gpu_fault, Grade::likely,
                   Weight::root, "device_error", first, "an error of the device itself");
  Verdict& verdict = candidate.verdict;
  verdict.culprits = sorted_labels({side.label_of(first->who)});
  verdict.victims = side.others(verdict.culprits);
  verdict.title = concat("The GPU of ", text_of_labels(verdict.culprits), " reports an error of its own");
  verdict.why = {concat("The line speaks of hardware: ", first->text)};
  set_place(verdict, side.stuck_place());
  out.push_back(std::move(candidate));
}

/// "an illegal memory access was encountered": the program's, and it kills the rank's context.
void explain_cuda_errors(const SideEvidence& side, std::vector<Candidate>& out) {
  for (const EventFact* event : side.of(EventKind::cuda_error)) {
    const bool is_programs =
        has_text(event->text, "illegal memory access") || has_text(event->text, "device-side assert") ||
        has_text(event->text, "illegal instruction") || has_text(event->text, "misaligned address");
    if (!is_programs || side.has_before(EventKind::timeout, *event)) continue;
    Candidate candidate = candidate_of(side, FaultKind::rank_exception, Grade::likely, Weight::strong,
                                       "cuda_error", event, "the rank's kernels ended");
    Verdict& verdict = candidate.verdict;
    verdict.culprits = sorted_labels({side.label_of(event->who, event->group)});
    verdict.victims = side.others(verdict.culprits);
    verdict.title = concat("A kernel of ", text_of_labels(verdict.culprits), " failed");
    verdict.why = {concat("Its CUDA context is lost, so it makes no further call: ", event->text)};
    verdict.fix = "Find the kernel with CUDA_LAUNCH_BLOCKING=1 or compute-sanitizer on the named rank.";
    set_place(verdict, side.stuck_place());
    out.push_back(std::move(candidate));
    return;
  }
}

}  // namespace

void explain_devices(const SideEvidence& side, std::vector<Candidate>& out) {
  explain_xids(side, out);
  explain_other_errors(side, out);
  explain_cuda_errors(side, out);
}

}  // namespace ringcomm::inline v0::diag
