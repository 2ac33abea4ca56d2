// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/record/record_reader.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <map>

#include "core/try.hpp"
#include "diag/evidence/record/message_choice.hpp"
#include "diag/evidence/record/plain_text.hpp"
#include "diag/evidence/record/record_words.hpp"
#include "ringcomm/core/descriptor.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::uint32_t kOperationsKept = 16;
constexpr std::size_t kPairMessagesKept = 64;
constexpr auto kPairs = static_cast<std::uint16_t>(OpCode::send_recv);

struct Reader {
  const RecordView& view;
  int file;
  HangEvidence& evidence;
  Who self;
  std::string key_start;

  std::string key(std::size_t channel) const { return concat(key_start, '/', channel); }
};

OpClass class_of(std::uint16_t op) { return op_class_of(name_of(static_cast<OpCode>(op))); }

/// The operations of one channel that came last, by sequence.
using Operations = std::map<std::uint32_t, RecordEntry>;

bool is_behind(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }
bool has_ended(const RecordEntry& e) { return e.released != 0 && e.code == 0; }

/// Where a channel is. The entries may be one state ahead of the channel's words: a writer that was killed
/// wrote them first.
struct Progress {
  std::uint32_t posted = 0, completed = 0;
};
Progress progress_of(const ChannelRecord& live, const Operations& operations) {
  Progress at{live.posted, live.completed};
  for (const auto& [sequence, entry] : operations) {
    if (is_behind(at.posted, sequence)) at.posted = sequence;
    if (has_ended(entry) && is_behind(at.completed, sequence)) at.completed = sequence;
  }
  return at;
}

void append_group(const Reader& r, std::size_t index, const Progress& progress) {
  const RecordView::Channel& channel = r.view.channels()[index];
  GroupFact group{.key = r.key(index), .name = channel.name, .unique_id = unique_id_of(r.view, channel)};
  if (group.name.empty()) group.name = concat("channel ", channel.live.ordinal);
  group.ranks.reserve(channel.members.size());
  for (const int member : channel.members) group.ranks.push_back(r.view.world_rank(member));
  group.size = static_cast<int>(channel.members.size());
  group.backend = r.view.header().transport;
  group.who = r.self;
  group.source = {r.file};
  r.evidence.groups.push_back(std::move(group));

  r.evidence.counters.push_back({.who = r.self,
                                 .group = r.key(index),
                                 .enqueued = progress.posted,
                                 .started = progress.posted,
                                 .completed = progress.completed,
                                 .source = {r.file}});
}

OpFact op_fact(const Reader& r, std::size_t index, const RecordEntry& e, const Progress& progress) {
  const ChannelRecord& live = r.view.channels()[index].live;
  OpFact op{.who = r.self, .group = r.key(index), .op = class_of(e.op)};
  op.name = name_of(static_cast<OpCode>(e.op));
  op.seq = e.sequence;
  op.dtype = name_of(static_cast<DType>(e.dtype));
  if (e.reduce_op != 0) op.reduce_op = name_of(static_cast<ReduceOp>(e.reduce_op));
  // A call that was refused because others had failed knows no size yet.
  const bool is_sized = e.bytes != 0 || e.code != static_cast<std::uint8_t>(StatusCode::mismatch);
  if (is_sized)
    op.elements_in = static_cast<std::int64_t>((e.bytes & INT64_MAX) / bytes_of(static_cast<DType>(e.dtype)));
  op.started = Tri::yes;
  op.completed = is_behind(progress.completed, e.sequence) ? Tri::no : Tri::yes;
  op.is_timed_out = e.code == static_cast<std::uint8_t>(StatusCode::timeout);
  op.created_ns = op.started_ns = r.view.realtime_ns(e.posted);
  if (e.released != 0 && op.completed == Tri::yes)
    op.completed_ns = r.view.realtime_ns(r.view.ticks_of(e.posted, e.released));
  if (e.sequence == live.posted && live.deadline_ns != INT64_MAX) {
    const std::int64_t begun = r.view.monotonic_ns(e.posted);
    if (live.deadline_ns > begun && begun > 0) op.timeout_ms = (live.deadline_ns - begun) / 1'000'000;
  }
  if (std::string site = r.view.name(e.epoch); !site.empty()) op.frames.push_back(std::move(site));
  op.signature = e.signature;
  op.source = {r.file};
  return op;
}

/// The one that was entered last, where messages have pushed it out of the ring.
RecordEntry entry_of(const ChannelRecord& live) {
  RecordEntry e{};
  e.posted = live.posted_ticks;
  e.sequence = live.posted;
  e.op = live.op;
  e.dtype = live.dtype <= static_cast<std::uint8_t>(DType::float8_e5m2) ? live.dtype : std::uint8_t{1};
  e.reduce_op = live.reduce_op <= static_cast<std::uint8_t>(ReduceOp::min) ? live.reduce_op : std::uint8_t{0};
  e.signature = live.signature;
  e.bytes = live.bytes;
  e.epoch = live.call_site;
  return e;
}

void append_step(const Reader& r, const RecordEntry& e) {
  StepFact step{.who = r.self, .group = r.key(e.channel)};
  step.is_incoming = e.kind == static_cast<std::uint8_t>(EntryKind::incoming);
  step.op = class_of(e.op);
  step.seq = e.sequence;
  step.step = e.step;
  step.peer = r.view.world_rank(e.message.peer);
  step.block = e.message.block;
  step.bytes = static_cast<std::int64_t>(e.bytes & INT64_MAX);
  if (e.epoch >> kSlotShift != 0) {
    step.slot = static_cast<int>(e.epoch >> kSlotShift);
    step.epoch = e.epoch & ((std::uint32_t{1} << kSlotShift) - 1);
  }
  const auto time = [&](std::uint32_t distance) -> std::optional<std::int64_t> {
    if (distance == 0) return {};
    return r.view.realtime_ns(r.view.ticks_of(e.posted, distance));
  };
  step.posted_ns = r.view.realtime_ns(e.posted);
  step.arrived_ns = time(e.arrived);
  step.computed_ns = time(e.computed);
  step.released_ns = time(e.released);
  step.source = {r.file};
  r.evidence.steps.push_back(std::move(step));
}

/// A message of send_recv, with the call that it belongs to.
struct PairMessage {
  RecordEntry message, call;
};

/// Sends and receives are numbered per pair and count in no collective: a group of their own.
std::string pair_key(const Reader& r, std::size_t channel) { return concat(r.key(channel), "/pairs"); }

void append_pair_group(const Reader& r, std::size_t index) {
  GroupFact group = r.evidence.groups.back();
  group.key = pair_key(r, index);
  group.name += " send/recv";
  group.unique_id += kPairsSuffix;
  r.evidence.groups.push_back(std::move(group));
}

/// `is_whole`: every message since the channel was opened is among these facts.
OpFact pair_fact(const Reader& r, const PairMessage& pair, bool is_whole) {
  const RecordEntry& e = pair.message;
  const RecordView::Channel& channel = r.view.channels()[e.channel];
  const bool is_incoming = e.kind == static_cast<std::uint8_t>(EntryKind::incoming);
  OpFact op{.who = r.self, .group = pair_key(r, e.channel)};
  op.op = is_incoming ? OpClass::recv : OpClass::send;
  op.name = name_of(op.op);
  op.seq = e.sequence;
  if (is_whole) op.p2p_seq = e.sequence;
  const auto at = std::find(channel.members.begin(), channel.members.end(), e.message.peer);
  if (at != channel.members.end()) op.peer = static_cast<int>(at - channel.members.begin());
  op.dtype = name_of(static_cast<DType>(e.dtype));
  op.elements_in = static_cast<std::int64_t>((e.bytes & INT64_MAX) / bytes_of(static_cast<DType>(e.dtype)));
  const bool is_over = has_ended(pair.call) || (is_incoming ? e.arrived : e.released) != 0;
  op.started = Tri::yes;
  op.completed = is_over ? Tri::yes : Tri::no;
  op.is_timed_out = pair.call.code == static_cast<std::uint8_t>(StatusCode::timeout);
  op.created_ns = op.started_ns = r.view.realtime_ns(e.posted);
  op.coalesced = static_cast<std::int64_t>(pair.call.number);
  if (std::string site = r.view.name(pair.call.epoch); !site.empty()) op.frames.push_back(std::move(site));
  op.source = {r.file};
  return op;
}

EventKind kind_of(const RecordHeader& h, std::string_view text) {
  const bool is_own = h.failure_culprit == h.rank;
  const bool is_thrown =
      text.find("exception") != std::string_view::npos || text.find(" threw ") != std::string_view::npos;
  switch (static_cast<StatusCode>(h.failure_code)) {
    case StatusCode::timeout:
      return EventKind::timeout;
    case StatusCode::peer_lost:
      return EventKind::peer_closed;
    case StatusCode::mismatch:
      return EventKind::mismatch_reported;
    case StatusCode::aborted:
      return is_own && is_thrown ? EventKind::exception : EventKind::aborted;
    case StatusCode::unreachable:
      return EventKind::connect_failed;
    case StatusCode::out_of_memory:
      return EventKind::system_error;
    case StatusCode::internal:
      return is_thrown ? EventKind::exception : EventKind::other;
    default:
      return EventKind::other;
  }
}

/// What the library itself says in its sentences, as a word for the rules.
std::string detail_of(const RecordHeader& h, const EventFact& event) {
  const auto says = [&event](std::string_view text) { return event.text.find(text) != std::string::npos; };
  const bool is_own = h.failure_culprit == h.rank;
  if (event.kind == EventKind::exception) return "an exception";
  if (event.kind == EventKind::aborted && is_own && says("destroyed its ring rotation"))
    return std::string(kLeftRotation);
  if (event.kind == EventKind::peer_closed && says("has left (its communicator was destroyed)"))
    return std::string(kLeftGroup);
  if (event.kind == EventKind::peer_closed && says("died: its process ended without leaving"))
    return std::string(kPeerDied);
  if (event.kind == EventKind::peer_closed && says("took back the memory that it had offered"))
    return std::string(kTookBack);
  return std::string(name_of(static_cast<StatusCode>(std::min<std::uint32_t>(h.failure_code, 255))));
}

void append_failure(const Reader& r) {
  const RecordHeader& h = r.view.header();
  if (h.state != static_cast<std::uint32_t>(RecordState::failed)) return;
  EventFact event{.who = r.self};
  event.text = r.view.name(h.failure_name).substr(0, 400);
  event.kind = kind_of(h, event.text);
  event.code = h.failure_code;
  event.detail = detail_of(h, event);
  if (h.failure_culprit >= 0) event.peer.rank = r.view.world_rank(h.failure_culprit);
  event.source = {r.file};
  r.evidence.events.push_back(std::move(event));
}

/// Of one channel.
struct Pairs {
  RecordEntry call{};  ///< entered last
  std::deque<PairMessage> messages;
  bool is_whole = true;

  void see(const RecordEntry& message) {
    messages.push_back({message, call});
    if (messages.size() <= kPairMessagesKept) return;
    messages.pop_front();
    is_whole = false;
  }
};

struct Chosen {
  std::vector<Operations> operations;  ///< by channel
  std::vector<MessageChoice> messages;
  std::vector<Pairs> pairs;
  std::uint64_t torn = 0;
};

Chosen choose(const RecordView& view) {
  Chosen chosen;
  chosen.operations.resize(view.channels().size());
  chosen.pairs.resize(view.channels().size());
  for (const RecordView::Channel& channel : view.channels())
    chosen.messages.emplace_back(channel.live.posted);
  const std::uint64_t first = view.first_number();
  for (std::uint64_t n = first; n != view.end_number(); ++n) {
    const auto entry = view.entry(n);
    if (!entry) {
      ++chosen.torn;
    } else if (entry->op == kPairs) {
      Pairs& pairs = chosen.pairs[entry->channel];
      if (entry->kind == static_cast<std::uint8_t>(EntryKind::operation)) {
        pairs.call = *entry;
      } else {
        pairs.see(*entry);
      }
    } else if (entry->kind != static_cast<std::uint8_t>(EntryKind::operation)) {
      chosen.messages[entry->channel].see(*entry);
    } else {
      Operations& operations = chosen.operations[entry->channel];
      operations[entry->sequence] = *entry;
      if (operations.size() <= kOperationsKept) continue;
      // The one furthest behind the newest; sequences wrap.
      const auto oldest = operations.upper_bound(entry->sequence);
      operations.erase(oldest == operations.end() ? operations.begin() : oldest);
    }
  }
  return chosen;
}

}  // namespace

std::string hex_of(std::uint64_t value) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(value));
  return digits.data();
}

std::string unique_id_of(const RecordView& view, const RecordView::Channel& channel) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const int member : channel.members)
    hash = (hash ^ static_cast<std::uint32_t>(member)) * 0x100000001b3U;
  return concat(hex_of(view.header().communicator), '-', channel.live.ordinal, '-',
                hex_of(hash).substr(0, 8));
}

void append_facts(const RecordView& view, int file, HangEvidence& evidence) {
  const RecordHeader& h = view.header();
  Who self{.rank = h.world_rank, .pid = h.pid};
  Reader r{view, file, evidence, self, hex_of(h.communicator)};
  self.host = plain_text(h.host);
  evidence.identities.push_back(self);
  const Chosen chosen = choose(view);
  bool has_open = false;
  for (std::size_t c = 0; c < view.channels().size(); ++c) {
    const ChannelRecord& live = view.channels()[c].live;
    Operations operations = chosen.operations[c];
    if (live.posted != live.completed && live.op != kPairs)
      operations.try_emplace(live.posted, entry_of(live));
    const Progress progress = progress_of(live, operations);
    append_group(r, c, progress);
    for (const auto& [sequence, entry] : operations) {
      evidence.ops.push_back(op_fact(r, c, entry, progress));
      has_open |= evidence.ops.back().completed == Tri::no;
    }
    for (const std::uint64_t number : chosen.messages[c].numbers()) append_step(r, *view.entry(number));
    if (chosen.pairs[c].messages.empty()) continue;
    append_pair_group(r, c);
    for (const PairMessage& pair : chosen.pairs[c].messages) {
      evidence.ops.push_back(pair_fact(r, pair, chosen.pairs[c].is_whole && view.first_number() == 1));
      has_open |= evidence.ops.back().completed == Tri::no;
    }
  }
  append_failure(r);
  if (!has_open) evidence.idle.push_back(r.self);
  evidence.world_size = std::max(evidence.world_size.value_or(0), h.world_size);
  FileRead& read = evidence.files[static_cast<std::size_t>(file)];
  read.ranks.push_back(h.world_rank);
  const std::string torn =
      chosen.torn == 0 ? std::string() : concat(chosen.torn, " entries were being written");
  read.note = concat(view.note(), view.note().empty() || torn.empty() ? "" : "; ", torn);
}

bool looks_like_verdict(const RawFile& file) { return file.bytes.starts_with(kVerdictHead); }

Status read_verdict(const RawFile& file, HangEvidence& evidence) {
  evidence.files[static_cast<std::size_t>(file.index)].note =
      "an earlier verdict on these records, not read as evidence";
  return {};
}

bool looks_like_record(const RawFile& file) { return file.bytes.starts_with(kRecordMagic); }

Status read_record(const RawFile& file, HangEvidence& evidence) {
  RINGCOMM_TRY_ASSIGN(const RecordView view, RecordView::of(file.bytes));
  const auto count = [&] {
    return evidence.groups.size() + evidence.ops.size() + evidence.steps.size() + evidence.counters.size() +
           evidence.events.size();
  };
  const std::size_t before = count();
  append_facts(view, file.index, evidence);
  evidence.files[static_cast<std::size_t>(file.index)].facts = count() - before;
  return {};
}

}  // namespace ringcomm::inline v0::diag
