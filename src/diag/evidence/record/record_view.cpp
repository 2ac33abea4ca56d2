// SPDX-License-Identifier: Apache-2.0
#include "diag/evidence/record/record_view.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/try.hpp"
#include "diag/evidence/record/plain_text.hpp"
#include "diag/record/crc32.hpp"
#include "ringcomm/core/descriptor.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr int kRanksMax = 1 << 22;
constexpr std::uint32_t kCapacityMax = std::uint32_t{1} << 26;
constexpr std::uint32_t kChannelsMax = 4096;
constexpr std::uint16_t kOpMax = static_cast<std::uint16_t>(OpCode::split);
constexpr std::uint8_t kDTypeMax = static_cast<std::uint8_t>(DType::float8_e5m2);
constexpr std::uint8_t kReduceOpMax = static_cast<std::uint8_t>(ReduceOp::min);

template <class T>
T value_at(std::string_view bytes, std::uint64_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// How many whole T lie from `offset` on, at most `count`.
template <class T>
std::uint64_t whole(std::string_view bytes, std::uint64_t offset, std::uint64_t count) {
  return offset >= bytes.size() ? 0 : std::min<std::uint64_t>(count, (bytes.size() - offset) / sizeof(T));
}

template <std::size_t N>
void end_text(char (&text)[N]) {
  text[N - 1] = '\0';
}

bool is_rate(double ns_per_tick) {
  return std::isfinite(ns_per_tick) && ns_per_tick > 1e-3 && ns_per_tick < 1e3;
}

/// Parts in order, none beyond the file.
bool is_layout(const RecordHeader& h) {
  struct Part {
    std::uint64_t offset, bytes;
  };
  const std::array parts{Part{0, h.header_bytes},
                         Part{h.channels_offset, std::uint64_t{h.channel_capacity} * sizeof(ChannelRecord)},
                         Part{h.members_offset, std::uint64_t{h.member_capacity} * sizeof(std::int32_t)},
                         Part{h.names_offset, h.name_capacity},
                         Part{h.plans_offset, h.plan_capacity},
                         Part{h.entries_offset, std::uint64_t{h.entry_capacity} * sizeof(RecordEntry)},
                         Part{h.file_bytes, 0}};
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const bool fits =
        parts[i].offset <= parts[i + 1].offset && parts[i].bytes <= parts[i + 1].offset - parts[i].offset;
    if (!fits) return false;
  }
  return true;
}

}  // namespace

Status RecordView::check_header() const {
  const RecordHeader& h = header_;
  if (h.version != kRecordVersion)
    return Status::not_available(
        concat("a record of version ", h.version, "; this program reads ", kRecordVersion));
  if (h.header_bytes != sizeof(RecordHeader) || h.entry_bytes != sizeof(RecordEntry))
    return Status::corrupt_data("the sizes of a record's parts are not those of version 1");
  const auto head = bytes_.substr(0, offsetof(RecordHeader, checksum));
  if (crc32(std::as_bytes(std::span(head.data(), head.size()))) != h.checksum)
    return Status::corrupt_data("the header's checksum is wrong");
  const bool is_sane = std::has_single_bit(h.entry_capacity) && h.entry_capacity <= kCapacityMax &&
                       h.size >= 1 && h.size <= kRanksMax && h.rank >= 0 && h.rank < h.size &&
                       h.world_size >= 1 && h.world_size <= kRanksMax && h.world_rank >= 0 &&
                       h.world_rank < h.world_size && h.member_capacity <= kCapacityMax &&
                       is_rate(h.ns_per_tick) && is_layout(h);
  return is_sane ? Status() : Status::corrupt_data("the header's numbers contradict one another");
}

Result<RecordView> RecordView::of(std::string_view bytes) {
  if (bytes.size() < sizeof(RecordHeader) || !bytes.starts_with(kRecordMagic))
    return Status::corrupt_data("too short for a record's header");
  RecordView view;
  view.bytes_ = bytes;
  RecordHeader& h = view.header_;
  h = value_at<RecordHeader>(bytes, 0);
  end_text(h.host), end_text(h.transport), end_text(h.library);
  RINGCOMM_TRY(view.check_header());
  view.entries_in_file_ = whole<RecordEntry>(bytes, h.entries_offset, h.entry_capacity);
  if (view.entries_in_file_ < h.entry_capacity)
    view.note_ = concat("cut short: has ", view.entries_in_file_, " of ", h.entry_capacity, " entries");
  if (h.names_offset < bytes.size())
    view.names_ = bytes.substr(h.names_offset, std::min(h.name_capacity, h.names_used));
  const std::uint64_t plan_bytes =
      whole<char>(bytes, h.plans_offset, std::min(h.plan_capacity, h.plans_used));
  view.plans_ = std::as_bytes(std::span(bytes))
                    .subspan(std::min<std::size_t>(h.plans_offset, bytes.size()), plan_bytes);
  view.read_channels();
  return view;
}

void RecordView::read_channels() {
  const RecordHeader& h = header_;
  const auto members =
      whole<std::int32_t>(bytes_, h.members_offset, std::min(h.member_capacity, h.members_used));
  members_.resize(members);
  if (members > 0)
    std::memcpy(members_.data(), bytes_.data() + h.members_offset, members * sizeof(std::int32_t));
  const auto channels = whole<ChannelRecord>(bytes_, h.channels_offset,
                                             std::min({h.channel_capacity, h.channels_used, kChannelsMax}));
  std::uint64_t room = 4 * (std::uint64_t{h.member_capacity} + 1024);  // channels that claim the same members
  for (std::uint64_t i = 0; i < channels; ++i) {
    Channel channel{.live = value_at<ChannelRecord>(bytes_, h.channels_offset + i * sizeof(ChannelRecord))};
    ChannelRecord& live = channel.live;
    const bool is_sound =
        live.first_member <= members && live.members <= members - live.first_member && live.members <= room;
    if (is_sound) {
      room -= live.members;
      const auto first = members_.begin() + live.first_member;
      channel.members.assign(first, first + live.members);
    } else {
      note_ = concat("the members of channel ", i, " are not in it");
    }
    for (int& member : channel.members) member = member >= 0 && member < h.size ? member : -1;
    if (live.waits_for < 0 || live.waits_for >= h.size) live.waits_for = -1;
    if (live.op > kOpMax) live.op = 0;
    channel.name = name(live.name);
    channel.call_site = name(live.call_site);
    channels_.push_back(std::move(channel));
  }
}

int RecordView::world_rank(int rank) const {
  if (rank == header_.rank) return header_.world_rank;
  if (rank < 0 || rank >= header_.size || static_cast<std::size_t>(rank) >= members_.size()) return -1;
  const int world = members_[static_cast<std::size_t>(rank)];
  return world >= 0 && world < header_.world_size ? world : -1;
}

std::string RecordView::name(std::uint32_t offset) const {
  if (offset == 0 || offset >= names_.size()) return {};
  const std::string_view rest = names_.substr(offset);
  return plain_text(rest.substr(0, rest.find('\0')));
}

std::uint64_t RecordView::first_number() const {
  const std::uint64_t written = header_.entries_written;
  return written > header_.entry_capacity ? written - header_.entry_capacity + 1 : 1;
}

std::optional<RecordEntry> RecordView::entry(std::uint64_t number) const {
  const std::uint64_t place = (number - 1) & (header_.entry_capacity - 1);
  if (place >= entries_in_file_) return {};
  const auto entry = value_at<RecordEntry>(bytes_, header_.entries_offset + place * sizeof(RecordEntry));
  const bool is_message = entry.kind == static_cast<std::uint8_t>(EntryKind::incoming) ||
                          entry.kind == static_cast<std::uint8_t>(EntryKind::outgoing);
  const bool is_kind = is_message || entry.kind == static_cast<std::uint8_t>(EntryKind::operation);
  const bool is_sound = entry.number == number && is_kind && entry.channel < channels_.size() &&
                        entry.op <= kOpMax && entry.dtype <= kDTypeMax && entry.reduce_op <= kReduceOpMax;
  if (!is_sound || (is_message && (entry.message.peer < 0 || entry.message.peer >= header_.size))) return {};
  return entry;
}

double RecordView::ns_per_tick() const {
  const double now = header_.ns_per_tick_now;
  // A calibration of two milliseconds is not off by more.
  return is_rate(now) && std::abs(now - header_.ns_per_tick) < 0.01 * header_.ns_per_tick
             ? now
             : header_.ns_per_tick;
}

std::int64_t RecordView::span_ns(std::uint64_t ticks) const {
  constexpr double kMax = 4e18;
  return static_cast<std::int64_t>(std::min(kMax, static_cast<double>(ticks) * ns_per_tick()));
}

std::int64_t RecordView::monotonic_ns(std::uint64_t ticks) const {
  const bool is_before = ticks < header_.clock_ticks;
  const std::int64_t span = span_ns(is_before ? header_.clock_ticks - ticks : ticks - header_.clock_ticks);
  const std::int64_t from = header_.clock_monotonic_ns;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(from) +
                                   static_cast<std::uint64_t>(is_before ? -span : span));
}

std::int64_t RecordView::realtime_ns(std::uint64_t ticks) const {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(monotonic_ns(ticks)) -
                                   static_cast<std::uint64_t>(header_.clock_monotonic_ns) +
                                   static_cast<std::uint64_t>(header_.clock_realtime_ns));
}

std::uint64_t RecordView::ticks_of(std::uint64_t posted, std::uint32_t distance) const {
  return posted + (std::uint64_t{distance == 0 ? 0 : distance - 1} << kTickShift);
}

}  // namespace ringcomm::inline v0::diag
