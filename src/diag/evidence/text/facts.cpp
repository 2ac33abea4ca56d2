// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/text/facts.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "diag/evidence/text/section.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::text {
namespace {

constexpr std::size_t kRanksOfAFileMax = 65536;
constexpr std::int64_t kSameRunNs = 120 * kSecondNs;

template <class T>
void take_if(T& value, const T& other, const T& unknown) {
  if (value == unknown) value = other;
}

/// What `other` knows and `who` does not. Two different ranks are two processes: then nothing is taken.
void fill(Who& who, const Who& other) {
  if (who.rank != kUnknown && other.rank != kUnknown && who.rank != other.rank) return;
  take_if(who.rank, other.rank, kUnknown);
  take_if(who.group_rank, other.group_rank, kUnknown);
  take_if(who.pid, other.pid, std::int64_t{kUnknown});
  take_if(who.gpu, other.gpu, kUnknown);
  take_if(who.host, other.host, std::string());
  take_if(who.address, other.address, std::string());
  take_if(who.bus_id, other.bus_id, std::string());
  take_if(who.name, other.name, std::string());
}

int number_of(const Who& who) { return who.rank != kUnknown ? who.rank : who.group_rank; }

}  // namespace

Facts::Facts(const RawFile& file, HangEvidence& evidence)
    : evidence_(evidence),
      file_(file.index),
      limit_(file.limits.facts_per_file),
      first_event_(evidence.events.size()),
      first_op_(evidence.ops.size()),
      first_counter_(evidence.counters.size()),
      first_stack_(evidence.stacks.size()),
      first_group_(evidence.groups.size()) {}

bool Facts::admit() {
  if (is_full()) return false;
  ++count_;
  return true;
}

Who Facts::completed(Who who) const {
  if (line_ != nullptr) fill(who, line_->who);
  // A rank inside a group is somebody of whom a heading may know nothing.
  if (who.rank == kUnknown && who.group_rank == kUnknown && who.name.empty()) fill(who, section_);
  return who;
}

EventFact* Facts::add(EventFact event) {
  if (!admit()) return nullptr;
  event.who = completed(std::move(event.who));
  if (event.source.file == kUnknown) event.source = source();  // or an earlier line's
  if (!event.time_ns && line_ != nullptr) event.time_ns = line_->time_ns;
  if (event.time_ns) dates_.learn(*event.time_ns);
  if (event.text.empty() && line_ != nullptr) event.text = line_->text;
  if (event.text.size() > kTextMax) event.text.resize(kTextMax);
  return &evidence_.events.emplace_back(std::move(event));
}

OpFact* Facts::add(OpFact op) {
  if (!admit()) return nullptr;
  op.who = completed(std::move(op.who));
  op.source = source();
  if (line_ != nullptr && line_->time_ns) dates_.learn(*line_->time_ns);
  return &evidence_.ops.emplace_back(std::move(op));
}

void Facts::add_of_other(OpFact op) {
  if (!admit()) return;
  op.source = source();
  evidence_.ops.push_back(std::move(op));
}

void Facts::add_of_other(EventFact event) {
  if (!admit()) return;
  if (event.source.file == kUnknown) event.source = source();
  if (event.time_ns) dates_.learn(*event.time_ns);
  if (event.text.size() > kTextMax) event.text.resize(kTextMax);
  evidence_.events.push_back(std::move(event));
}

void Facts::add(CounterFact counter) {
  if (!admit()) return;
  counter.who = completed(std::move(counter.who));
  counter.source = source();
  evidence_.counters.push_back(std::move(counter));
}

void Facts::add(GroupFact group) {
  if (!admit()) return;
  group.who = completed(std::move(group.who));
  group.source = source();
  evidence_.groups.push_back(std::move(group));
}

void Facts::add(StackFact stack) {
  if (!admit()) return;
  evidence_.stacks.push_back(std::move(stack));
}

void Facts::add(GpuSample sample) {
  if (!admit()) return;
  sample.source = source();
  evidence_.gpus.push_back(std::move(sample));
}

void Facts::add_identity(Who who) {
  if (admit()) evidence_.identities.push_back(completed(std::move(who)));
}

void Facts::add_topology(Reading reading) {
  if (admit()) evidence_.topology.push_back(std::move(reading));
}

EventFact* Facts::event(EventKind kind, std::string_view detail, Who who) {
  EventFact event;
  event.kind = kind;
  event.detail = detail.substr(0, kTextMax);
  event.who = std::move(who);
  return add(std::move(event));
}

void Facts::format(std::string_view name) {
  auto& formats = evidence_.files[static_cast<std::size_t>(file_)].formats;
  if (!name.empty() && std::ranges::find(formats, name) == formats.end()) formats.emplace_back(name);
}

void Facts::note(std::string_view text) {
  std::string& note = evidence_.files[static_cast<std::size_t>(file_)].note;
  if (note.size() < kTextMax) note += concat(note.empty() ? "" : "; ", text);
}

void Facts::complete_times() {
  for (std::size_t i = first_event_; i < evidence_.events.size(); ++i) {
    auto& time = evidence_.events[i].time_ns;
    if (time) time = dates_.completed(*time);
  }
  for (std::size_t i = first_op_; i < evidence_.ops.size(); ++i) {
    auto& time = evidence_.ops[i].created_ns;
    if (time) time = dates_.completed(*time);
  }
}

void Facts::tell_group(const Who& who, std::int64_t seq, const std::string& group) {
  if (groups_.size() >= kWritersMax) return;
  const auto [at, is_new] = groups_.try_emplace({number_of(completed(who)), seq}, group);
  if (!is_new && at->second != group) at->second.clear();  // the same number in two groups
}

void Facts::link_groups() {
  for (std::size_t i = first_op_; i < evidence_.ops.size(); ++i) {
    OpFact& op = evidence_.ops[i];
    if (!op.group.empty() || !op.seq || op.is_hex_seq) continue;
    const auto at = groups_.find({number_of(op.who), *op.seq});
    if (at != groups_.end()) op.group = at->second;
  }
}

void Facts::split_runs() {
  // One process cannot time out twice in one operation: later, it is the next run in the same log.
  std::map<std::tuple<int, std::string, std::int64_t>, std::int64_t> seen;
  std::vector<int> begins;  // lines
  for (std::size_t i = first_op_; i < evidence_.ops.size(); ++i) {
    const OpFact& op = evidence_.ops[i];
    if (!op.is_timed_out || !op.seq || !op.created_ns) continue;
    const std::int64_t time = *op.created_ns + op.ran_for_ms.value_or(0) * 1'000'000;
    const auto [at, is_new] = seen.try_emplace({number_of(op.who), op.group, *op.seq}, time);
    if (is_new || (time - at->second < kSameRunNs && at->second - time < kSameRunNs)) continue;
    begins.push_back(op.source.line);
    seen.clear();
    seen.try_emplace({number_of(op.who), op.group, *op.seq}, time);
  }
  if (begins.empty()) return;
  const auto run_of = [&](const Source& source) {
    return static_cast<int>(std::ranges::upper_bound(begins, source.line) - begins.begin());
  };
  for (std::size_t i = first_op_; i < evidence_.ops.size(); ++i)
    evidence_.ops[i].snapshot = run_of(evidence_.ops[i].source);
  for (std::size_t i = first_event_; i < evidence_.events.size(); ++i)
    evidence_.events[i].snapshot = run_of(evidence_.events[i].source);
  for (std::size_t i = first_counter_; i < evidence_.counters.size(); ++i)
    evidence_.counters[i].snapshot = run_of(evidence_.counters[i].source);
  note(concat("the log holds ", begins.size() + 1, " runs"));
}

void Facts::name_stacks() {
  FileRead& read = evidence_.files[static_cast<std::size_t>(file_)];
  const auto is_stack = [](const std::string& format) {
    return format == "pyspy" || format == "faulthandler" || format == "gdb" || format == "kernel_stack";
  };
  if (first_stack_ == evidence_.stacks.size() || !std::ranges::all_of(read.formats, is_stack)) return;
  const std::span<StackFact> stacks(evidence_.stacks.begin() + static_cast<std::ptrdiff_t>(first_stack_),
                                    evidence_.stacks.end());
  const auto is_alike = [&](const StackFact& stack) { return stack.who == stacks.front().who; };
  if (stacks.front().who.rank != kUnknown || !std::ranges::all_of(stacks, is_alike)) return;
  const int rank = rank_of_stack_name(read.path);
  for (StackFact& stack : stacks) stack.who.rank = rank;
}

void Facts::finish() {
  name_stacks();
  complete_times();
  link_groups();
  split_runs();
  FileRead& read = evidence_.files[static_cast<std::size_t>(file_)];
  read.facts += count_;
  std::vector<int> ranks;
  const auto note_rank = [&](const Who& who) {
    if (who.rank != kUnknown && ranks.size() < kRanksOfAFileMax) ranks.push_back(who.rank);
  };
  for (std::size_t i = first_event_; i < evidence_.events.size(); ++i) note_rank(evidence_.events[i].who);
  for (std::size_t i = first_op_; i < evidence_.ops.size(); ++i) note_rank(evidence_.ops[i].who);
  for (std::size_t i = first_counter_; i < evidence_.counters.size(); ++i)
    note_rank(evidence_.counters[i].who);
  for (std::size_t i = first_stack_; i < evidence_.stacks.size(); ++i) note_rank(evidence_.stacks[i].who);
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  read.ranks = std::move(ranks);
  if (is_full()) note(concat("more than ", limit_, " facts: the rest of the file was not used"));
}

}  // namespace ringcomm::inline v0::diag::text
