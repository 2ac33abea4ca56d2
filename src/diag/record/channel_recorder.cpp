// SPDX-License-Identifier: Apache-2.0
#include "diag/record/channel_recorder.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::uint8_t kFailedWithoutCode = 255;

/// As RecordEntry says: units of 2^kTickShift ticks, plus one.
std::uint32_t distance(std::uint64_t from, std::uint64_t to) {
  const std::uint64_t units = to > from ? (to - from) >> kTickShift : 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(units, UINT32_MAX - 1)) + 1;
}

bool is_before(std::uint32_t a, std::uint32_t b) { return static_cast<std::int32_t>(a - b) < 0; }

RecordEntry entry_for(const Descriptor& d, EntryKind kind, std::uint64_t now) {
  RecordEntry entry{};
  entry.posted = now;
  entry.sequence = d.sequence;
  entry.op = static_cast<std::uint16_t>(d.op);
  entry.dtype = static_cast<std::uint8_t>(d.dtype);
  entry.reduce_op = static_cast<std::uint8_t>(d.reduce_op);
  entry.step = d.step;
  entry.bytes = d.bytes;
  entry.kind = static_cast<std::uint8_t>(kind);
  return entry;
}

}  // namespace

ChannelRecorder::ChannelRecorder(RecordFile& file, ChannelRecord& channel, std::span<const int> members)
    : file_(file),
      channel_(channel),
      index_(static_cast<std::uint16_t>(&channel - file.channels())),
      clock_(file.clock()),
      members_(members.begin(), members.end()),
      lanes_(static_cast<Lane*>(std::calloc(2 * std::max<std::size_t>(1, members.size()), sizeof(Lane)))) {
  if (!lanes_) throw std::bad_alloc();
  bool is_identity = true;
  for (std::size_t i = 0; i < members_.size(); ++i) is_identity &= members_[i] == static_cast<int>(i);
  if (is_identity) return;
  const int last = *std::max_element(members_.begin(), members_.end());
  positions_.assign(static_cast<std::size_t>(std::max(last, 0)) + 1, kNobody);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i] >= 0) positions_[static_cast<std::size_t>(members_[i])] = static_cast<std::uint32_t>(i);
  }
}

std::uint32_t ChannelRecorder::position_of(int peer) const {
  const auto index = static_cast<std::size_t>(peer);
  if (positions_.empty()) return index < members_.size() ? static_cast<std::uint32_t>(index) : kNobody;
  return index < positions_.size() ? positions_[index] : kNobody;
}

std::uint32_t ChannelRecorder::site_of(std::string_view call_site) noexcept {
  if (call_site.empty()) return 0;
  const auto address = reinterpret_cast<std::uintptr_t>(call_site.data());
  KnownSite& known = sites_[(address >> 3U) % sites_.size()];
  const bool is_known = known.text == call_site.data() && known.bytes == call_site.size() &&
                        std::memcmp(file_.names() + known.offset, known.text, known.bytes) == 0;
  if (is_known) return known.offset;
  const std::uint32_t offset = file_.intern(call_site, false);
  if (offset != 0) known = {call_site.data(), call_site.size(), offset};
  return offset;
}

/// Null when a newer entry lies in its place.
RecordEntry* ChannelRecorder::entry_of(std::uint64_t number) const {
  RecordEntry& entry = file_.entry(number - 1);
  return get(entry.number) == number ? &entry : nullptr;
}

void ChannelRecorder::enter(const Descriptor& d, std::int64_t deadline_ns,
                            std::string_view call_site) noexcept {
  const std::uint64_t now = clock_.now();
  RecordEntry entry = entry_for(d, EntryKind::operation, now);
  entry.signature = d.signature;
  entry.channel = index_;
  entry.epoch = site_of(call_site);
  operations_[d.sequence % operations_.size()] = {d.sequence, file_.append(entry)};
  put(channel_.op, entry.op);
  put(channel_.dtype, entry.dtype);
  put(channel_.reduce_op, entry.reduce_op);
  put(channel_.call_site, entry.epoch);
  put(channel_.signature, d.signature);
  put(channel_.bytes, d.bytes);
  put(channel_.posted_ticks, now);
  put(channel_.deadline_ns, deadline_ns);
  put(channel_.step, d.step);
  put(channel_.entries, channel_.entries + 1);
  put_last(channel_.posted, d.sequence);
  file_.refresh_clock(now);
}

void ChannelRecorder::leave(const Descriptor& d, StatusCode code) noexcept {
  const std::uint64_t now = clock_.now();
  const OpenOperation& open = operations_[d.sequence % operations_.size()];
  if (open.number != 0 && open.sequence == d.sequence) {
    if (RecordEntry* const entry = entry_of(open.number)) {
      if (code != StatusCode::ok) put(entry->code, static_cast<std::uint8_t>(code));
      put_last(entry->released, distance(get(entry->posted), now));
    }
  }
  if (code != StatusCode::ok) return;
  put(channel_.completed_ticks, now);
  put_last(channel_.completed, d.sequence);
}

ChannelRecorder::Message* ChannelRecorder::message_of(Lane& lane, OpState state, const Descriptor& d) {
  std::uint32_t& reached = lane.reached[static_cast<std::size_t>(state) - 1];
  const std::uint32_t tracked = lane.posted - std::min(lane.posted, kDepth);
  const bool is_given_up = is_before(reached, tracked);
  std::uint32_t found = lane.posted;
  for (std::uint32_t i = is_given_up ? tracked : reached; i != lane.posted && found == lane.posted; ++i) {
    RecordEntry* const entry = entry_of(lane.messages[i % kDepth].number);
    const bool is_same = entry != nullptr && get(entry->sequence) == d.sequence &&
                         get(entry->step) == d.step && get(entry->message.block) == d.block;
    if (is_same) found = i;
  }
  // Descriptors tell apart where some messages skip a state (a recv is never given back); where they do not
  // help, order does.
  if (found == lane.posted && is_given_up) {
    ++reached;
    return nullptr;
  }
  if (found == lane.posted) found = reached;
  if (found == lane.posted) return nullptr;
  for (std::size_t s = 0; s < static_cast<std::size_t>(state); ++s) {
    if (is_before(lane.reached[s], found + 1)) lane.reached[s] = found + 1;
  }
  return &lane.messages[found % kDepth];
}

/// Its end will not be seen: it must not look as if it read its slot for ever.
void ChannelRecorder::give_up(const Message& message, bool is_incoming) noexcept {
  if (is_incoming || message.epoch == 0) return;
  slots_.give_back(message.epoch);
  if (RecordEntry* const entry = entry_of(message.number)) put(entry->epoch, 0);
}

ChannelRecorder::Message& ChannelRecorder::post(Lane& lane, Direction direction, const Descriptor& d,
                                                int peer, const void* block, std::uint64_t now) {
  const bool is_incoming = direction == Direction::incoming;
  RecordEntry entry = entry_for(d, is_incoming ? EntryKind::incoming : EntryKind::outgoing, now);
  entry.message = {peer, d.block};
  entry.channel = index_;
  if (block != nullptr && d.bytes != 0)
    entry.epoch = is_incoming ? slots_.write(block, d.sequence) : slots_.read(block, d.sequence);
  Message& message = lane.messages[lane.posted % kDepth];
  if (lane.posted >= kDepth && is_before(lane.reached[2], lane.posted + 1 - kDepth))
    give_up(message, is_incoming);
  message = {file_.append(entry), entry.epoch};
  ++lane.posted;
  put(channel_.step, d.step);
  put(channel_.entries, channel_.entries + 1);
  return message;
}

void ChannelRecorder::record(Direction direction, const Descriptor& d, int peer, const void* block,
                             OpState state) noexcept {
  const std::uint32_t position = position_of(peer);
  if (position == kNobody) return;
  const std::uint64_t now = clock_.now();
  const bool is_incoming = direction == Direction::incoming;
  Lane& lane = lanes_[position + (is_incoming ? 0 : members_.size())];
  if (state == OpState::posted) {
    post(lane, direction, d, peer, block, now);
    if (is_incoming) begin_wait(position, now);
    return;
  }
  const bool is_failure = state == OpState::failed;
  const OpState next = !is_failure ? state : is_incoming ? OpState::arrived : OpState::released;
  Message* message = message_of(lane, next, d);
  if (message == nullptr && next == OpState::arrived && lane.reached[0] == lane.posted) {
    post(lane, direction, d, peer, block, now);  // it was there before anybody asked for it
    message = message_of(lane, next, d);
  }
  if (next == OpState::arrived && is_incoming && !is_failure) end_wait(position, now);
  if (message == nullptr) return;
  if (next == OpState::released && !is_incoming) slots_.give_back(message->epoch);
  RecordEntry* const entry = entry_of(message->number);
  if (entry == nullptr) return;
  const std::uint64_t posted = get(entry->posted);
  if (is_failure) {
    put(entry->code, kFailedWithoutCode);
  } else if (state == OpState::arrived) {
    put_last(entry->arrived, distance(posted, now));
  } else if (state == OpState::computed) {
    put_last(entry->computed, distance(posted, now));
    const std::uint32_t arrived = get(entry->arrived);
    count_compute(posted + (std::uint64_t{arrived - (arrived > 0 ? 1 : 0)} << kTickShift), now);
  } else {
    put_last(entry->released, distance(posted, now));
  }
}

void ChannelRecorder::count_compute(std::uint64_t arrived, std::uint64_t now) {
  const std::uint64_t from = std::max(arrived, computed_until_);
  if (now > from) put(channel_.compute_ticks, channel_.compute_ticks + (now - from));
  computed_until_ = std::max(now, computed_until_);
}

void ChannelRecorder::begin_wait(std::uint32_t position, std::uint64_t now) {
  Lane& lane = lanes_[position];
  if (lane.waits++ > 0) return;
  lane.waits_since = now;
  lane.next = kNobody;
  lane.previous = last_waited_;
  if (last_waited_ != kNobody) {
    lanes_[last_waited_].next = position;
    last_waited_ = position;
    return;
  }
  first_waited_ = last_waited_ = position;
  waiting_since_ = now;
  show_wait();
}

void ChannelRecorder::end_wait(std::uint32_t position, std::uint64_t now) {
  Lane& lane = lanes_[position];
  if (lane.waits == 0 || --lane.waits > 0) return;
  const bool was_first = first_waited_ == position;
  if (lane.next != kNobody) lanes_[lane.next].previous = lane.previous;
  if (lane.previous != kNobody) lanes_[lane.previous].next = lane.next;
  if (was_first) first_waited_ = lane.next;
  if (last_waited_ == position) last_waited_ = lane.previous;
  if (first_waited_ == kNobody && now > waiting_since_)
    put(channel_.wait_ticks, channel_.wait_ticks + (now - waiting_since_));
  if (was_first) show_wait();
}

void ChannelRecorder::show_wait() {
  const bool is_any = first_waited_ != kNobody;
  put(channel_.waits_since_ticks, is_any ? lanes_[first_waited_].waits_since : 0);
  put_last(channel_.waits_for, is_any ? members_[first_waited_] : -1);
}

}  // namespace ringcomm::inline v0::diag
