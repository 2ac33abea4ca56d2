// SPDX-License-Identifier: Apache-2.0
#include "diag/explain/events/side.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <tuple>
#include <utility>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::int64_t kDay = 86'400'000'000'000;

/// Times are of three kinds (evidence/text/timestamp.hpp): with a year, with month and day, the time of day.
/// Those of different kinds cannot be compared.
int clock_of(const EventFact& event) {
  if (!event.time_ns) return 3;
  if (*event.time_ns >= 400 * kDay) return 0;
  return *event.time_ns >= kDay ? 1 : 2;
}

bool have_one_clock(const EventFact& a, const EventFact& b) {
  return clock_of(a) < 3 && clock_of(a) == clock_of(b);
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string process_name(const Who& who, std::string_view group) {
  if (!who.name.empty()) return who.name;
  const std::string& host = who.host.empty() ? who.address : who.host;
  std::string text;
  if (who.pid != kUnknown && !who.name.empty()) return who.name;
  if (who.pid != kUnknown) {
    text = concat("process ", who.pid, host.empty() ? "" : " on ", host);
  } else if (who.gpu != kUnknown) {
    text = concat("GPU ", who.gpu, host.empty() ? "" : " of ", host);
  } else if (!who.bus_id.empty()) {
    text = concat("GPU ", who.bus_id, host.empty() ? "" : " of ", host);
  } else {
    text = host;
  }
  if (who.group_rank == kUnknown) return text;
  const std::string member =
      group.empty() ? concat("rank ", who.group_rank) : concat("rank ", who.group_rank, " of comm ", group);
  return text.empty() ? member : concat(text, " (", member, ")");
}

}  // namespace

SideEvidence::SideEvidence(const HangEvidence& evidence, const JobPicture& picture) {
  evidence_ = &evidence;
  picture_ = &picture;
  std::set<std::string> hosts;
  const auto is_error = [](const EventFact& event) { return event.kind == EventKind::async_error; };
  const bool has_error = std::any_of(evidence.events.begin(), evidence.events.end(), is_error);
  for (const EventFact& event : evidence.events) {
    // "Exception (either an error or timeout) detected by watchdog": beside an error, that is what it was.
    if (has_error && event.kind == EventKind::timeout && event.detail == "watchdog") continue;
    by_kind_[static_cast<std::size_t>(event.kind)].push_back(&event);
    if (event.who.gpu != kUnknown && hosts.size() < 2) hosts.insert(event.who.host);
  }
  is_one_host_ = hosts.size() == 1;
  for (auto& events : by_kind_) {
    // One order even where clocks differ: by kind of clock, then time, then the order of the lines.
    std::stable_sort(events.begin(), events.end(), [](const EventFact* a, const EventFact* b) {
      const auto key = [](const EventFact& event) {
        return std::make_tuple(clock_of(event), event.time_ns.value_or(0), event.source.file,
                               event.source.line);
      };
      return key(*a) < key(*b);
    });
  }
  index_ranks();
}

void SideEvidence::index_ranks() {
  const auto add = [this](std::string key, int index) {
    std::vector<int>& list = ranks_by_key_[std::move(key)];
    if (list.empty() || list.back() != index) list.push_back(index);
  };
  for (std::size_t i = 0; i < picture_->ranks.size(); ++i) {
    const Who& who = picture_->ranks[i].who;
    const int index = static_cast<int>(i);
    if (who.rank != kUnknown) add(concat("r", who.rank), index);
    if (who.pid != kUnknown) add(concat("p", who.pid), index);
    if (!who.bus_id.empty()) add(concat("b", who.bus_id), index);
    if (who.gpu != kUnknown && !who.host.empty()) add(concat("g", who.gpu, ' ', who.host), index);
  }
}

int SideEvidence::only_one(const std::string& key, const Who& who) const {
  const auto found = ranks_by_key_.find(key);
  if (found == ranks_by_key_.end()) return kUnknown;
  int only = kUnknown;
  for (const int index : found->second) {
    const Who& other = picture_->ranks[static_cast<std::size_t>(index)].who;
    if (!who.host.empty() && !other.host.empty() && who.host != other.host) continue;
    // One process may drive several GPUs, each a rank of its own.
    if (who.gpu != kUnknown && other.gpu != kUnknown && who.gpu != other.gpu) continue;
    if (only != kUnknown) return kUnknown;
    only = index;
  }
  return only;
}

int SideEvidence::index_of(const Who& who, std::string_view group) const {
  if (who.rank != kUnknown) return only_one(concat("r", who.rank), Who{});
  if (who.pid != kUnknown) {
    const int index = only_one(concat("p", who.pid), who);
    if (index != kUnknown) return index;
  }
  if (!who.bus_id.empty()) return only_one(concat("b", who.bus_id), who);
  if (who.gpu != kUnknown && !who.host.empty()) {
    const int index = only_one(concat("g", who.gpu, ' ', who.host), who);
    if (index != kUnknown) return index;
  }
  return picture_->find(who, group);
}

int SideEvidence::rank_of(const Who& who, std::string_view group) const {
  if (who.rank != kUnknown) return who.rank;
  const int index = index_of(who, group);
  if (index == kUnknown) return kUnknown;
  const RankPicture& rank = picture_->ranks[static_cast<std::size_t>(index)];
  if (!rank.is_rank_from_gpu) return rank.who.rank;
  // The number of a GPU stands in for the rank: not for a rank inside a communicator, and of a process with
  // several GPUs it is the line's own.
  if (who.group_rank != kUnknown) return kUnknown;
  return who.gpu != kUnknown ? who.gpu : rank.who.rank;
}

std::string SideEvidence::label_of(const Who& who, std::string_view group) const {
  const int rank = rank_of(who, group);
  if (rank != kUnknown) return std::to_string(rank);
  if (who.group_rank == kUnknown && who.gpu != kUnknown) {
    if (is_one_host_) return std::to_string(who.gpu);
    return concat("GPU ", who.gpu, who.host.empty() ? "" : " of ", who.host);
  }
  return process_name(who, group);
}

const std::vector<const EventFact*>& SideEvidence::of(EventKind kind) const {
  return by_kind_[static_cast<std::size_t>(kind)];
}

bool SideEvidence::has_before(EventKind kind, const EventFact& event) const {
  if (!event.time_ns) return false;
  const auto& events = of(kind);
  // Sorted by clock first: the first one on the event's clock is the earliest.
  const int clock = clock_of(event);
  const auto first = std::partition_point(
      events.begin(), events.end(), [clock](const EventFact* other) { return clock_of(*other) < clock; });
  return first != events.end() && is_before(**first, event);
}

bool SideEvidence::is_about_a_hang() const {
  return !evidence_->ops.empty() || !evidence_->counters.empty() || !evidence_->stacks.empty() ||
         !evidence_->steps.empty() || !evidence_->events.empty();
}

Place SideEvidence::stuck_place() const {
  const GroupPicture* stuck = nullptr;
  const OpFact* op = nullptr;
  std::size_t most = 0;
  for (const GroupPicture& group : picture_->groups) {
    std::size_t waiting = 0;
    const OpFact* oldest = nullptr;
    for (const MemberPicture& member : group.members) {
      if (member.open.empty()) continue;
      ++waiting;
      const OpFact* first = member.open.front();
      if (oldest == nullptr || first->seq.value_or(0) < oldest->seq.value_or(0)) oldest = first;
    }
    if (waiting > most) {
      most = waiting;
      stuck = &group;
      op = oldest;
    }
  }
  if (stuck == nullptr) return {};
  Place place;
  place.group = text_of(*stuck);
  place.op = op->op == OpClass::unknown ? op->name : std::string(name_of(op->op));
  if (op->seq) place.seq = std::to_string(*op->seq);
  return place;
}

std::vector<std::string> SideEvidence::others(const std::vector<std::string>& without) const {
  const std::set<std::string> named(without.begin(), without.end());
  std::vector<std::string> labels;
  for (const RankPicture& rank : picture_->ranks) {
    if (rank.has_evidence && named.count(rank.label) == 0) labels.push_back(rank.label);
  }
  return sorted_labels(std::move(labels));
}

Candidate candidate_of(const SideEvidence& side, FaultKind kind, Grade grade, Weight weight,
                       std::string_view rule, const EventFact* first, std::string_view says) {
  Candidate candidate;
  candidate.verdict.kind = kind;
  candidate.verdict.grade = grade;
  candidate.verdict.world_size = side.picture().world_size;
  candidate.weight = weight;
  candidate.rule = rule;
  if (first == nullptr) return candidate;
  candidate.time_ns = first->time_ns;
  add_quote(side, candidate.verdict, first->source, first->text, says);
  return candidate;
}

void add_quote(const SideEvidence& side, Verdict& verdict, const Source& source, std::string_view text,
               std::string_view says) {
  constexpr std::size_t kMost = 12;
  constexpr std::size_t kLongest = 200;
  if (verdict.evidence.size() >= kMost) return;
  Quote quote;
  const auto& files = side.evidence().files;
  if (source.file >= 0 && static_cast<std::size_t>(source.file) < files.size()) {
    quote.where.file = files[static_cast<std::size_t>(source.file)].path;
  }
  quote.where.line = source.line;
  quote.text = std::string(text.substr(0, kLongest));
  quote.says = std::string(says);
  verdict.evidence.push_back(std::move(quote));
}

std::string text_of(const GroupPicture& group) {
  return group.label.starts_with("0x") ? concat("commId ", group.label) : group.label;
}

void set_place(Verdict& verdict, Place place) {
  verdict.group = std::move(place.group);
  verdict.op = std::move(place.op);
  verdict.seq = std::move(place.seq);
}

std::vector<std::string> sorted_labels(std::vector<std::string> labels) {
  labels.erase(
      std::remove_if(labels.begin(), labels.end(), [](const std::string& label) { return label.empty(); }),
      labels.end());
  std::sort(labels.begin(), labels.end(), [](const std::string& a, const std::string& b) {
    const bool is_a = is_number(a);
    const bool is_b = is_number(b);
    if (is_a != is_b) return is_a;
    if (is_a && a.size() != b.size()) return a.size() < b.size();
    return a < b;
  });
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

std::string text_of_labels(const std::vector<std::string>& labels) {
  if (labels.empty()) return "a process";
  constexpr std::size_t kMost = 8;
  const std::size_t shown = std::min(labels.size(), kMost);
  std::string text = is_number(labels.front()) ? labels.size() == 1 ? "rank " : "ranks " : "";
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == labels.size() ? " and " : ", ";
    text += labels[i];
  }
  if (shown < labels.size()) text += concat(" and ", labels.size() - shown, " more");
  return text;
}

bool is_before(const EventFact& a, const EventFact& b, std::int64_t by_ns) {
  return have_one_clock(a, b) && *a.time_ns < *b.time_ns - by_ns;
}

bool has_text(std::string_view text, std::string_view part) {
  const auto same = [](unsigned char a, unsigned char b) { return std::tolower(a) == std::tolower(b); };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

}  // namespace ringcomm::inline v0::diag
