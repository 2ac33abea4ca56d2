// SPDX-License-Identifier: Apache-2.0
// Watchdogs that report far later than their limit stood still themselves: the host was suspended, or its
// clock jumped.
#include <algorithm>
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// A watchdog looks every second or so; half the limit and a minute more is no rounding.
bool is_far_above(const OpFact& op) {
  if (!op.ran_for_ms || !op.timeout_ms || *op.timeout_ms <= 0) return false;
  constexpr std::int64_t kMinuteMs = 60'000;
  return *op.ran_for_ms > *op.timeout_ms + std::max(*op.timeout_ms / 2, kMinuteMs);
}

}  // namespace

void explain_pauses(const SideEvidence& side, std::vector<Candidate>& out) {
  std::set<std::string> far;
  std::set<std::string> normal;
  const OpFact* first = nullptr;
  for (const OpFact& op : side.evidence().ops) {
    if (!op.ran_for_ms || !op.timeout_ms) continue;
    const std::string label = side.label_of(op.who, op.group);
    (is_far_above(op) ? far : normal).insert(label);
    if (first == nullptr && is_far_above(op)) first = &op;
  }
  for (const std::string& label : far) normal.erase(label);
  if (first == nullptr) return;
  // One rank of several that was late with its own watchdog was itself held up; more than that is no pattern.
  const bool are_all = normal.empty();
  if (!are_all && far.size() > 1) return;
  const std::string numbers =
      concat("ran for ", *first->ran_for_ms / 1000, " s with a limit of ", *first->timeout_ms / 1000, " s");
  Candidate candidate = candidate_of(side, are_all ? FaultKind::host_paused : FaultKind::rank_unresponsive,
                                     far.size() >= 2 ? Grade::likely : Grade::possible, Weight::strong,
                                     "late_watchdog", nullptr);
  Verdict& verdict = candidate.verdict;
  add_quote(side, verdict, first->source, numbers, "the watchdog itself stood still");
  const std::vector<std::string> labels = sorted_labels({far.begin(), far.end()});
  if (are_all) {
    verdict.victims = labels;
    verdict.title = concat("All watchdogs stood still: an operation ", numbers);
  } else {
    verdict.culprits = labels;
    verdict.victims = side.others(labels);
    verdict.title = concat(text_of_labels(labels), " stood still: its operation ", numbers,
                           ", while its peers' watchdogs were on time");
  }
  verdict.why = {concat("A watchdog reports within seconds of its limit; here an operation ", numbers, '.')};
  verdict.counter_check = "A watchdog thread that a driver call blocks would be as late.";
  set_place(verdict, side.stuck_place());
  out.push_back(std::move(candidate));
}

}  // namespace ringcomm::inline v0::diag
