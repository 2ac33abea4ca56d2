// SPDX-License-Identifier: Apache-2.0
// What the library itself finds when it compares the ranks at start: one GPU used twice, different versions,
// different network devices.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::string_view kInit = "ncclCommInitRank";

/// Numbers that follow a word: 2 and 0 of "rank 2 and rank 0 both on".
std::vector<std::int64_t> numbers_after(std::string_view text, std::string_view word) {
  std::vector<std::int64_t> numbers;
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const char* begin = text.data() + at + word.size();
    const char* end = text.data() + text.size();
    std::int64_t number = 0;
    if (std::from_chars(begin, end, number).ec == std::errc()) numbers.push_back(number);
    if (numbers.size() >= 16) break;
  }
  return numbers;
}

/// "2.26.2" of 22602; older ones had a digit less (2708: 2.7.8).
std::string version_text(std::int64_t code) {
  if (code >= 10000) return concat(code / 10000, '.', code / 100 % 100, '.', code % 100);
  return concat(code / 1000, '.', code / 100 % 10, '.', code % 100);
}

/// The communicator that starts up, where there is one only.
std::string communicator_of(const SideEvidence& side) {
  const auto& groups = side.picture().groups;
  return groups.size() == 1 ? text_of(groups.front()) : std::string();
}

}  // namespace

void explain_binding(const SideEvidence& side, std::vector<Candidate>& out) {
  const auto& events = side.of(EventKind::duplicate_gpu);
  if (events.empty()) return;
  std::vector<std::string> labels;
  for (const EventFact* event : events) {
    // The line names both: its reporter has no better name than the one in it.
    const std::vector<std::int64_t> ranks = numbers_after(event->text, "rank ");
    for (const std::int64_t rank : ranks) labels.push_back(std::to_string(rank));
    if (!ranks.empty()) continue;
    labels.push_back(side.label_of(event->who, event->group));
    labels.push_back(side.label_of(event->peer, event->group));
  }
  Candidate candidate = candidate_of(side, FaultKind::rank_gpu_binding, Grade::certain, Weight::root,
                                     "duplicate_gpu", events.front(), "two ranks on one GPU");
  Verdict& verdict = candidate.verdict;
  for (std::size_t i = 1; i < events.size(); ++i) {
    add_quote(side, verdict, events[i]->source, events[i]->text);
  }
  verdict.culprits = sorted_labels(std::move(labels));
  verdict.title = concat(text_of_labels(verdict.culprits), " use the same GPU");
  verdict.why = {concat(events.size(),
                        " ranks report a GPU that another rank uses too; each is compared with the "
                        "first other one only, so all of them are listed.")};
  verdict.op = kInit;
  out.push_back(std::move(candidate));
}

void explain_versions(const SideEvidence& side, std::vector<Candidate>& out) {
  std::vector<std::string> labels;
  std::string title;
  const EventFact* first = nullptr;
  for (const EventFact* event : side.of(EventKind::version_mismatch)) {
    const std::vector<std::int64_t> ranks = numbers_after(event->text, "rank ");
    const std::vector<std::int64_t> codes = numbers_after(event->text, "version ");
    for (const std::int64_t rank : ranks) labels.push_back(std::to_string(rank));
    if (first == nullptr && ranks.size() >= 2 && codes.size() >= 2) {
      title = concat("Rank ", ranks[0], " loads NCCL ", version_text(codes[0]), ", rank ", ranks[1],
                     " loads ", version_text(codes[1]));
    }
    if (first == nullptr) first = event;
  }
  Grade grade = Grade::certain;
  if (first == nullptr) {
    // No line says it outright: what the processes print at start.
    std::map<std::string, std::vector<const EventFact*>> by_version;
    for (const EventFact* event : side.of(EventKind::version)) {
      // A line of nobody (a report of the environment) is of another process, or of none of the job. A dump
      // says "2.26.2" where a log says "2.26.2+cuda12.4".
      const std::string version = event->detail.substr(0, event->detail.find('+'));
      if (!version.empty() && side.index_of(event->who, event->group) != kUnknown)
        by_version[version].push_back(event);
    }
    if (by_version.size() < 2) return;
    const auto rarest =
        std::min_element(by_version.begin(), by_version.end(),
                         [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    first = rarest->second.front();
    for (const EventFact* event : rarest->second) labels.push_back(side.label_of(event->who));
    title = concat("Ranks load different versions of NCCL: ", by_version.begin()->first, " and ",
                   by_version.rbegin()->first);
    grade = Grade::likely;
  }
  Candidate candidate = candidate_of(side, FaultKind::version_mismatch, grade, Weight::root,
                                     "versions_differ", first, "two versions in one communicator");
  Verdict& verdict = candidate.verdict;
  verdict.suspects = sorted_labels(std::move(labels));
  verdict.title = title.empty() ? std::string("Ranks load different versions of NCCL") : title;
  verdict.why = {
      "All ranks of a communicator need one version; which of them is the wanted one is not in the "
      "evidence."};
  verdict.op = kInit;
  verdict.group = communicator_of(side);
  out.push_back(std::move(candidate));
}

}  // namespace ringcomm::inline v0::diag
