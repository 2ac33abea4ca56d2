// SPDX-License-Identifier: Apache-2.0
#include "diag/record/channel_recorder.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
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

std::uint64_t pair(std::uint32_t low, std::uint32_t high) { return std::uint64_t{high} << 32 | low; }

/// `subject`: of an operation its signature, of a message peer and block. Words are put together here:
/// copying fields and then loading them as words would stall on each.
EntryWords words_of(const Descriptor& d, EntryKind kind, std::uint32_t channel, std::uint64_t subject,
                    std::uint32_t epoch, std::uint32_t arrived, std::uint64_t now) {
  const std::uint32_t types = static_cast<std::uint32_t>(d.op) | static_cast<std::uint32_t>(d.dtype) << 16 |
                              static_cast<std::uint32_t>(d.reduce_op) << 24;
  const std::uint32_t kinds = channel | static_cast<std::uint32_t>(kind) << 16;
  return {now,     pair(arrived, 0), pair(0, d.sequence), pair(types, static_cast<std::uint32_t>(d.step)),
          subject, d.bytes,          pair(kinds, epoch)};
}
static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and so is words_of()");
static_assert(offsetof(RecordEntry, posted) == 8 && offsetof(RecordEntry, arrived) == 16 &&
              offsetof(RecordEntry, sequence) == 28 && offsetof(RecordEntry, op) == 32 &&
              offsetof(RecordEntry, step) == 36 && offsetof(RecordEntry, signature) == 40 &&
              offsetof(RecordEntry, bytes) == 48 && offsetof(RecordEntry, channel) == 56 &&
              offsetof(RecordEntry, epoch) == 60);

}  // namespace

ChannelRecorder::ChannelRecorder(RecordFile& file, ChannelRecord& channel, std::span<const int> members)
    : file_(file),
      channel_(channel),
      index_(static_cast<std::uint16_t>(&channel - file.channels())),
      clock_(file.clock()),
      members_(members.begin(), members.end()),
      memory_(std::calloc(2 * std::max<std::size_t>(1, members.size()) + 1, sizeof(Lane))) {
  if (!memory_) throw std::bad_alloc();
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.get());
  lanes_ = reinterpret_cast<Lane*>((address + alignof(Lane) - 1) / alignof(Lane) * alignof(Lane));
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
  const std::uint32_t site = site_of(call_site);
  const std::uint64_t number =
      file_.append(words_of(d, EntryKind::operation, index_, d.signature, site, 0, now));
  operations_[d.sequence % operations_.size()] = {d.sequence, number};
  put(channel_.op, static_cast<std::uint16_t>(d.op));
  put(channel_.dtype, static_cast<std::uint8_t>(d.dtype));
  put(channel_.reduce_op, static_cast<std::uint8_t>(d.reduce_op));
  put(channel_.call_site, site);
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
      if (code != StatusCode::ok)
        put_state(*entry, open.number, entry->code, static_cast<std::uint8_t>(code));
      put_state(*entry, open.number, entry->released, distance(get(entry->posted), now));
    }
  }
  if (code != StatusCode::ok) return;
  put(channel_.completed_ticks, now);
  put_last(channel_.completed, d.sequence);
}

/// The oldest message that has neither this state nor a later one, as far as is known.
std::uint32_t ChannelRecorder::first_without(Lane& lane, OpState state) const {
  std::uint32_t first = get(lane.reached[2]);
  for (std::size_t s = 2; s-- >= static_cast<std::size_t>(state);) {
    const std::uint32_t reached = get(lane.reached[s]);
    if (is_before(first, reached)) first = reached;
  }
  return first;
}

/// The message that a state belongs to; `posted` where there is none. Descriptors tell apart where some
/// messages skip a state (a recv is never given back); where they do not help, order does.
std::uint32_t ChannelRecorder::find(Lane& lane, OpState state, const Descriptor& d,
                                    std::uint32_t posted) const {
  const std::uint32_t first = first_without(lane, state);
  const std::uint32_t tracked = posted - std::min(posted, kDepth);
  const bool is_given_up = is_before(first, tracked);
  for (std::uint32_t i = is_given_up ? tracked : first; is_before(i, posted); ++i) {
    RecordEntry* const entry = entry_of(get(lane.numbers[i % kDepth]));
    if (entry != nullptr && get(entry->sequence) == d.sequence && get(entry->step) == d.step &&
        get(entry->message.block) == d.block)
      return i;
  }
  if (!is_given_up) return is_before(first, posted) ? first : posted;
  put(lane.reached[static_cast<std::size_t>(state) - 1], first + 1);
  return posted;
}

/// Its end will not be seen: it must not look as if it read its slot for ever.
void ChannelRecorder::give_up(Lane& lane, std::uint32_t message) noexcept {
  const std::uint32_t epoch = lane.epochs[message % kDepth];
  if (epoch == 0) return;
  slots_.give_back(epoch);
  const std::uint64_t number = get(lane.numbers[message % kDepth]);
  if (RecordEntry* const entry = entry_of(number)) put_state(*entry, number, entry->epoch, 0U);
}

void ChannelRecorder::post(Lane& lane, Direction direction, const Descriptor& d, int peer, const void* block,
                           std::uint32_t arrived, std::uint64_t now) {
  const bool is_incoming = direction == Direction::incoming;
  std::uint32_t epoch = 0;
  if (block != nullptr && d.bytes != 0)
    epoch = is_incoming ? slots_.write(block, d.sequence) : slots_.read(block, d.sequence);
  const std::uint32_t posted = lane.posted;
  if (!is_incoming && posted >= kDepth && is_before(get(lane.reached[2]), posted + 1 - kDepth))
    give_up(lane, posted);
  const auto kind = is_incoming ? EntryKind::incoming : EntryKind::outgoing;
  const std::uint64_t subject = pair(static_cast<std::uint32_t>(peer), static_cast<std::uint32_t>(d.block));
  put(lane.numbers[posted % kDepth], file_.append(words_of(d, kind, index_, subject, epoch, arrived, now)));
  lane.epochs[posted % kDepth] = epoch;
  put_last(lane.posted, posted + 1);
  put(channel_.step, d.step);
  put(channel_.entries, channel_.entries + 1);
}

void ChannelRecorder::record(Direction direction, const Descriptor& d, int peer, const void* block,
                             OpState state) noexcept {
  Instant now;
  record_at(direction, d, peer, block, state, now);
}

void ChannelRecorder::record_at(Direction direction, const Descriptor& d, int peer, const void* block,
                                OpState state, Instant& when) noexcept {
  const std::uint32_t position = position_of(peer);
  if (position == kNobody) return;
  if (when.ticks == 0) when.ticks = clock_.now();
  const std::uint64_t now = when.ticks;
  const bool is_incoming = direction == Direction::incoming;
  Lane& lane = lanes_[position + (is_incoming ? 0 : members_.size())];
  if (state == OpState::posted) {
    post(lane, direction, d, peer, block, 0, now);
    if (is_incoming) begin_wait(position, now);
    return;
  }
  const bool is_failure = state == OpState::failed;
  const OpState next = !is_failure ? state : is_incoming ? OpState::arrived : OpState::released;
  const std::uint32_t posted = get_first(lane.posted);
  const std::uint32_t message = find(lane, next, d, posted);
  const bool is_arrival = is_incoming && next == OpState::arrived;
  if (is_arrival && !is_failure) end_wait(position, now);
  if (is_arrival && message == posted) {
    if (first_without(lane, next) != posted) return;
    post(lane, direction, d, peer, block, is_failure ? 0 : 1, now);  // it was there before anybody asked
    if (!is_failure) put(lane.reached[0], posted + 1);
    if (!is_failure) return;
  } else if (message == posted) {
    return;
  }
  reach(lane, direction, next, message, is_failure, now);
}

void ChannelRecorder::reach(Lane& lane, Direction direction, OpState state, std::uint32_t message,
                            bool is_failure, std::uint64_t now) {
  std::uint32_t& reached = lane.reached[static_cast<std::size_t>(state) - 1];
  if (is_before(get(reached), message + 1)) put(reached, message + 1);
  if (state == OpState::released && direction == Direction::outgoing)
    slots_.give_back(lane.epochs[message % kDepth]);
  const std::uint64_t number = get(lane.numbers[message % kDepth]);
  RecordEntry* const entry = entry_of(number);
  if (entry == nullptr) return;
  const std::uint64_t posted = get(entry->posted);
  if (is_failure) {
    put_state(*entry, number, entry->code, kFailedWithoutCode);
  } else if (state == OpState::arrived) {
    put_state(*entry, number, entry->arrived, distance(posted, now));
  } else if (state == OpState::released) {
    put_state(*entry, number, entry->released, distance(posted, now));
  } else {
    put_state(*entry, number, entry->computed, distance(posted, now));
    const std::uint32_t arrived = get(entry->arrived);
    count_compute(posted + (std::uint64_t{arrived - (arrived > 0 ? 1 : 0)} << kTickShift), now);
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
