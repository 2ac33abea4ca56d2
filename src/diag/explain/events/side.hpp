// SPDX-License-Identifier: Apache-2.0
// Side evidence in the order that the rules want it: events by kind, earliest first, and names of processes
// resolved to ranks.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "diag/explain/picture.hpp"

namespace ringcomm::inline v0::diag {

/// What is stuck, for the fields of a verdict; empty where the evidence does not say.
struct Place {
  std::string group, op, seq;
};

class SideEvidence {
 public:
  SideEvidence(const HangEvidence& evidence, const JobPicture& picture);

  const HangEvidence& evidence() const { return *evidence_; }
  const JobPicture& picture() const { return *picture_; }
  /// Earliest first, as far as that is known.
  const std::vector<const EventFact*>& of(EventKind kind) const;
  bool has(EventKind kind) const { return !of(kind).empty(); }
  /// One of this kind comes before the event by a clock that both have.
  bool has_before(EventKind kind, const EventFact& event) const;

  /// Index into JobPicture::ranks, or kUnknown where no rank or several fit.
  int index_of(const Who& who, std::string_view group = {}) const;
  /// Global rank, or kUnknown.
  int rank_of(const Who& who, std::string_view group = {}) const;
  /// "3"; else "process 6004 on 10.0.1.13 (rank 1 of comm b339)", "GPU 4 of nodeb", the name as printed;
  /// empty where the line names nobody. On a single host a device number stands for the rank.
  std::string label_of(const Who& who, std::string_view group = {}) const;

  /// What the others wait in: of the group with the most members in an open operation, the oldest one.
  Place stuck_place() const;
  /// Labels of all ranks that wait or complain, without the named ones; sorted.
  std::vector<std::string> others(const std::vector<std::string>& without) const;
  /// Where a rank's evidence shows a collective call, a timeout or a stack: it is about a hang.
  bool is_about_a_hang() const;

 private:
  int only_one(const std::string& key, const Who& who) const;
  void index_ranks();

  const HangEvidence* evidence_ = nullptr;
  const JobPicture* picture_ = nullptr;
  std::array<std::vector<const EventFact*>, static_cast<std::size_t>(EventKind::other) + 1> by_kind_;
  std::unordered_map<std::string, std::vector<int>> ranks_by_key_;
  bool is_one_host_ = false;
};

/// A rule on side evidence.
using SideRule = void (*)(const SideEvidence& side, std::vector<Candidate>& out);
void explain_deaths(const SideEvidence& side, std::vector<Candidate>& out);
void explain_ras_absences(const SideEvidence& side, std::vector<Candidate>& out);
void explain_exceptions(const SideEvidence& side, std::vector<Candidate>& out);
void explain_pauses(const SideEvidence& side, std::vector<Candidate>& out);
void explain_stragglers(const SideEvidence& side, std::vector<Candidate>& out);
void explain_teardown(const SideEvidence& side, std::vector<Candidate>& out);
void explain_record_failures(const SideEvidence& side, std::vector<Candidate>& out);
void explain_gloo(const SideEvidence& side, std::vector<Candidate>& out);
/// Gloo's own "Timed out waiting": what closes afterwards is a consequence.
bool has_gloo_timeout(const SideEvidence& side);
void explain_binding(const SideEvidence& side, std::vector<Candidate>& out);
void explain_versions(const SideEvidence& side, std::vector<Candidate>& out);
void explain_limits(const SideEvidence& side, std::vector<Candidate>& out);
void explain_set_up(const SideEvidence& side, std::vector<Candidate>& out);
void explain_devices(const SideEvidence& side, std::vector<Candidate>& out);
void explain_peer_access(const SideEvidence& side, std::vector<Candidate>& out);
void explain_network(const SideEvidence& side, std::vector<Candidate>& out);
void explain_stacks(const SideEvidence& side, std::vector<Candidate>& out);
void explain_wiring(const SideEvidence& side, std::vector<Candidate>& out);

/// The parts that all candidates have. Quotes `first` and takes its time.
Candidate candidate_of(const SideEvidence& side, FaultKind kind, Grade grade, Weight weight,
                       std::string_view rule, const EventFact* first, std::string_view says = {});
void add_quote(const SideEvidence& side, Verdict& verdict, const Source& source, std::string_view text,
               std::string_view says = {});
/// "commId 0x91aa03" where a log names a communicator by its id alone.
std::string text_of(const GroupPicture& group);
void set_place(Verdict& verdict, Place place);
/// Sorted by number where they are numbers, each once; without empty ones.
std::vector<std::string> sorted_labels(std::vector<std::string> labels);
/// "rank 3", "ranks 0, 4 and 6", "process 12 on n1".
std::string text_of_labels(const std::vector<std::string>& labels);

/// Both have a time on the same clock, and a's is earlier by more than `by_ns`.
bool is_before(const EventFact& a, const EventFact& b, std::int64_t by_ns = 0);
/// Letters compared without case.
bool has_text(std::string_view text, std::string_view part);

}  // namespace ringcomm::inline v0::diag
