// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "diag/evidence/flight_recorder/dump.hpp"
#include "diag/evidence/flight_recorder/dump_rank.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag::flight_recorder {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

/// Builds the facts of one dump.
class Facts {
 public:
  Facts(Dump& dump, const RawFile& file, HangEvidence& evidence)
      : dump_(dump), evidence_(evidence), source_{file.index, 0}, names_(names_of_status(dump)) {
    who_.rank = rank_of_dump(dump, file.path);
    who_.pid = dump.pid;
    who_.host = dump.host;
    if (who_.rank == kUnknown) who_.name = file.path.substr(file.path.rfind('/') + 1);
    for (const Entry& entry : dump.entries) has_starts_ = has_starts_ || entry.op.started_ns;
    for (const auto& [id, status] : dump.status)
      has_starts_ = has_starts_ || status.started.value_or(-1) >= 0;
  }

  void append(bool is_whole) {
    name_groups();
    add_groups();
    mark_coalesced();
    for (Entry& entry : dump_.entries) add_operation(entry);
    const std::size_t unnamed = add_counters();
    if (is_whole && !has_open_) evidence_.idle.push_back(who_);
    if (who_.rank != kUnknown && (who_.pid != kUnknown || !who_.host.empty()))
      evidence_.identities.push_back(who_);
    if (!dump_.library_version.empty())
      evidence_.events.push_back(
          {.kind = EventKind::version, .who = who_, .detail = dump_.library_version, .source = source_});
    FileRead& read = evidence_.files[static_cast<std::size_t>(source_.file)];
    if (who_.rank != kUnknown) read.ranks.push_back(who_.rank);
    read.facts += dump_.groups.size() + dump_.entries.size() + dump_.status.size() - unnamed;
    if (unnamed > 0) read.note = concat("the counters of ", unnamed, " groups have no name");
  }

 private:
  /// Version 1 names a group by its number only. The backend stands before the colon of a call's name.
  void name_groups() {
    for (Entry& entry : dump_.entries) {
      if (entry.op.group.empty() && entry.pg_id) {
        const std::string id = concat(*entry.pg_id);
        const auto name = names_.find(id);
        entry.op.group = name == names_.end() ? id : name->second;
      }
      const auto colon = entry.op.name.find(':');
      if (colon != std::string::npos && !backends_.contains(entry.op.group))
        backends_.emplace(entry.op.group, entry.op.name.substr(0, colon));
    }
  }

  void add_groups() {
    for (const auto& [key, group] : dump_.groups)
      evidence_.groups.push_back({.key = key,
                                  .name = group.name,
                                  .description = group.description,
                                  .ranks = group.ranks,
                                  .size = group.ranks.empty()
                                              ? std::nullopt
                                              : std::optional<int>(static_cast<int>(group.ranks.size())),
                                  .backend = group.backend.empty() ? backend_of(key) : group.backend,
                                  .who = who_,
                                  .source = source_});
    for (const Entry& entry : dump_.entries) add_group_of(entry.op.group);
    for (const auto& [key, group] : dump_.groups) {
      if (group.description != "default_pg" && group.name != "default_pg") continue;
      const int size = static_cast<int>(group.ranks.size());
      if (size > evidence_.world_size.value_or(0)) evidence_.world_size = size;
    }
  }

  /// A group that only entries name.
  void add_group_of(const std::string& key) {
    if (key.empty() || dump_.groups.contains(key) || !only_named_.emplace(key, 0).second) return;
    const auto described = dump_.group_descriptions.find(key);
    evidence_.groups.push_back(
        {.key = key,
         .name = key,
         .description = described == dump_.group_descriptions.end() ? std::string() : described->second,
         .backend = backend_of(key),
         .who = who_,
         .source = source_});
  }

  std::string backend_of(const std::string& group) const {
    const auto found = backends_.find(group);
    return found == backends_.end() ? std::string() : found->second;
  }

  static bool is_message(const Entry& entry) {
    if (entry.is_p2p) return *entry.is_p2p;
    const OpClass op = op_class_of(entry.op.name);
    return op == OpClass::send || op == OpClass::recv;
  }

  /// Calls that share a number are members of one coalesced call.
  void mark_coalesced() {
    using Key = std::pair<std::string, std::pair<bool, std::int64_t>>;
    std::map<Key, std::size_t> first;
    for (std::size_t i = 0; i < dump_.entries.size(); ++i) {
      Entry& entry = dump_.entries[i];
      const bool is_p2p = is_message(entry);
      const auto number = is_p2p ? entry.op.p2p_seq : entry.op.seq;
      if (!number) continue;
      const auto [at, is_new] = first.try_emplace({entry.op.group, {is_p2p, *number}}, i);
      if (is_new) continue;
      const auto mark = static_cast<std::int64_t>(at->second);
      entry.op.coalesced = mark;
      dump_.entries[at->second].op.coalesced = mark;
    }
  }

  void add_operation(Entry& entry) {
    OpFact& op = entry.op;
    op.who = who_;
    op.source = source_;
    op.op = op_class_of(op.name);
    // A message keeps the number of the last collective, a collective the count of messages: neither is its
    // own.
    (is_message(entry) ? op.seq : op.p2p_seq).reset();
    if (const auto ends = message_ends(op.name)) {
      op.who.group_rank = ends->own;
      op.peer = ends->peer;
    }
    set_progress(entry);
    has_open_ = has_open_ || op.completed == Tri::no;
    evidence_.ops.push_back(std::move(op));
  }

  void set_progress(Entry& entry) {
    OpFact& op = entry.op;
    const bool is_completed = entry.state == "completed" || (entry.state.empty() && op.completed_ns);
    const bool is_pending = entry.state == "scheduled" || entry.state == "started";
    if (is_completed) op.completed = Tri::yes;
    if (is_pending) op.completed = Tri::no;
    if (is_completed || op.started_ns || entry.state == "started") op.started = Tri::yes;
    // Without timing no dump sees a start: "scheduled" then says nothing of the device.
    if (op.started == Tri::unknown && entry.state == "scheduled" && has_starts_) op.started = Tri::no;
    if (entry.is_retired && op.completed == Tri::no) op.is_timed_out = true;
    if (is_late(op)) {
      // An abort lets a stuck kernel "complete": that is no progress.
      op.is_timed_out = true;
      op.completed = Tri::no;
      if (op.seq && !op.group.empty()) {
        const auto [at, is_new] = late_.try_emplace(op.group, *op.seq);
        if (!is_new) at->second = std::min(at->second, *op.seq);
      }
    }
  }

  static bool is_late(const OpFact& op) {
    return op.completed == Tri::yes && op.completed_ns && op.created_ns && op.timeout_ms &&
           *op.timeout_ms > 0 && *op.completed_ns >= *op.created_ns &&
           (*op.completed_ns - *op.created_ns) / kNsPerMs > *op.timeout_ms;
  }

  /// How many have no group's name.
  std::size_t add_counters() {
    std::size_t unnamed = 0;
    for (const auto& [id, status] : dump_.status) {
      if (status.enqueued && status.completed && *status.enqueued > *status.completed) has_open_ = true;
      auto name = names_.find(id);
      std::string group = name == names_.end() ? std::string() : name->second;
      if (group.empty() && dump_.groups.empty()) {
        group = id;  // version 1: there are no names at all
        add_group_of(group);
      }
      if (group.empty()) {
        ++unnamed;
        continue;
      }
      CounterFact fact{.who = who_,
                       .group = std::move(group),
                       .enqueued = status.enqueued,
                       .completed = status.completed,
                       .source = source_};
      if (has_starts_) fact.started = status.started;
      if (const auto late = late_.find(fact.group); late != late_.end() && fact.completed)
        fact.completed = std::min(*fact.completed, late->second - 1);
      evidence_.counters.push_back(std::move(fact));
    }
    return unnamed;
  }

  Dump& dump_;
  HangEvidence& evidence_;
  Source source_;
  std::map<std::string, std::string> names_;  ///< of pg_status; made before the entries are moved away
  Who who_{};
  bool has_starts_ = false;
  bool has_open_ = false;
  std::map<std::string, std::string> backends_;  ///< of groups, as their entries say: "nccl:"
  std::map<std::string, int> only_named_;
  std::map<std::string, std::int64_t> late_;  ///< first number that completed only after its timeout
};

}  // namespace

Status append_facts(Dump& dump, const RawFile& file, const Status& end, HangEvidence& evidence) {
  const bool is_whole = end.is_ok() && !dump.is_full;
  const std::size_t entries = dump.entries.size();
  const bool has_progress = entries > 0 || !dump.status.empty();
  if (!dump.is_dump)
    return end.is_ok() ? Status::corrupt_data("no key of a flight-recorder dump in it") : end;
  Facts(dump, file, evidence).append(is_whole);
  FileRead& read = evidence.files[static_cast<std::size_t>(file.index)];
  std::string why;
  if (dump.is_full) {
    why = concat("has more than ", entries, " entries: the rest was not read");
  } else if (!end.is_ok()) {
    why = entries > 0 ? concat("ends inside entry ", entries + 1, " (", end.message(), ")")
                      : concat("ends before its first whole entry (", end.message(), ")");
  }
  if (!why.empty()) read.note = read.note.empty() ? why : concat(why, "; ", read.note);
  if (is_whole || has_progress) return {};
  return Status::corrupt_data(why);
}

}  // namespace ringcomm::inline v0::diag::flight_recorder
