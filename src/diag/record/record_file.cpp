// SPDX-License-Identifier: Apache-2.0
#include "diag/record/record_file.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "diag/record/plan_code.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::size_t kNameBytesMax = 240;
constexpr std::uint32_t kFailureBytes = 512;  ///< of the names part, kept for the failure's sentence

std::size_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return static_cast<std::size_t>(hash ^ (hash >> 32));
}

/// The longest beginning of at most `bytes` bytes that does not end inside a UTF-8 character.
std::string_view cut(std::string_view text, std::size_t bytes) {
  text = text.substr(0, text.find('\0'));
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0U) == 0x80U) --bytes;
  return text.substr(0, bytes);
}

}  // namespace

RecordFile::RecordFile(std::byte* bytes, const RecordHeader& header, OwnedFd file, std::filesystem::path path)
    : bytes_(bytes),
      header_(reinterpret_cast<RecordHeader*>(bytes)),
      entries_(at<RecordEntry>(header.entries_offset)),
      entry_mask_(header.entry_capacity - 1),
      clock_(TickClock::of_process()),
      clock_refreshed_(header.clock_ticks),
      file_(std::move(file)),
      path_(std::move(path)) {}

RecordFile::~RecordFile() { ::munmap(bytes_, header_->file_bytes); }

ChannelRecord* RecordFile::add_channel(std::span<const int> members, std::uint32_t ordinal,
                                       std::string_view name) {
  const std::uint32_t name_offset = intern(name, true);
  const std::lock_guard lock(mutex_);
  RecordHeader& h = *header_;
  if (h.channels_used == h.channel_capacity || members.size() > h.member_capacity - h.members_used) {
    add(h.dropped, 1);
    return nullptr;
  }
  const std::uint32_t first = h.members_used;
  for (std::size_t i = 0; i < members.size(); ++i) put(this->members()[first + i], members[i]);
  ChannelRecord& channel = channels()[h.channels_used];
  put(channel.first_member, first);
  put(channel.members, static_cast<std::uint32_t>(members.size()));
  put(channel.ordinal, ordinal);
  put(channel.name, name_offset);
  put(channel.deadline_ns, INT64_MAX);
  put(channel.waits_for, -1);
  put_last(h.members_used, first + static_cast<std::uint32_t>(members.size()));
  put_last(h.channels_used, h.channels_used + 1);
  return &channel;
}

std::uint32_t RecordFile::add_name(std::string_view text, std::uint32_t limit) {
  std::size_t bucket = hash_of(text) % kNameBuckets;
  for (; name_buckets_[bucket] != 0; bucket = (bucket + 1) % kNameBuckets) {
    if (names() + name_buckets_[bucket] == text) return name_buckets_[bucket];
  }
  const std::uint32_t offset = header_->names_used;
  const bool has_room = names_known_ < kNameBuckets / 2 && offset + text.size() + 1 <= limit;
  if (!has_room) {
    add(header_->dropped, 1);
    return 0;
  }
  std::memcpy(at<char>(header_->names_offset) + offset, text.data(), text.size());  // the rest is zero
  put_last(header_->names_used, offset + static_cast<std::uint32_t>(text.size()) + 1);
  name_buckets_[bucket] = offset;
  ++names_known_;
  return offset;
}

std::uint32_t RecordFile::intern(std::string_view text, bool may_wait) noexcept {
  text = cut(text, kNameBytesMax);
  if (text.empty()) return 0;
  std::unique_lock lock(mutex_, std::defer_lock);
  if (may_wait) {
    lock.lock();
  } else if (!lock.try_lock()) {
    return 0;
  }
  return add_name(text, header_->name_capacity - std::uint32_t{kFailureBytes});
}

void RecordFile::add_plan(std::uint32_t channel, std::uint64_t signature,
                          const plan::RankPlan& slice) noexcept {
  const std::lock_guard lock(mutex_);
  RecordHeader& h = *header_;
  const std::span used(plans(), h.plans_used);
  if (has_plan(used, channel, signature)) return;
  const std::span room(plans() + h.plans_used, h.plan_capacity - h.plans_used);
  const std::size_t bytes = encode_plan(channel, signature, slice, room);
  if (bytes == 0) add(h.dropped, 1);
  put_last(h.plans_used, h.plans_used + static_cast<std::uint32_t>(bytes));
}

void RecordFile::set_failure(const Status& status, int culprit) noexcept {
  const std::lock_guard lock(mutex_);
  RecordHeader& h = *header_;
  if (h.state == static_cast<std::uint32_t>(RecordState::failed)) return;  // the first one is the reason
  const std::string_view text = cut(status.message(), kFailureBytes - 1);
  if (!text.empty()) put(h.failure_name, add_name(text, h.name_capacity));
  put(h.failure_culprit, culprit);
  put(h.failure_code, static_cast<std::uint32_t>(status.code()));
  put_last(h.state, static_cast<std::uint32_t>(RecordState::failed));
}

void RecordFile::measure_clock(std::uint64_t ticks) noexcept {
  clock_refreshed_.store(ticks, std::memory_order_relaxed);
  if (!clock_.has_counter) return;
  const std::int64_t monotonic = now_ns();
  const std::uint64_t passed = clock_.now() - header_->clock_ticks;
  const double measured =
      static_cast<double>(monotonic - header_->clock_monotonic_ns) / static_cast<double>(passed);
  put(header_->ns_per_tick_now, measured);
}

void RecordFile::finish(bool keep) noexcept {
  const std::lock_guard lock(mutex_);
  const bool has_failed = header_->state == static_cast<std::uint32_t>(RecordState::failed);
  if (!has_failed) put_last(header_->state, static_cast<std::uint32_t>(RecordState::closed));
  if (!has_failed && !keep) ::unlink(path_.c_str());
}

void RecordFile::forget() noexcept {
  // Nameless memory in its place: whoever still records in the child writes to nobody's file.
  const std::size_t bytes = header_->file_bytes;
  const RecordHeader copy = *header_;
  void* const place = ::mmap(bytes_, bytes, PROT_READ | PROT_WRITE,
                             MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place != MAP_FAILED) std::memcpy(bytes_, &copy, sizeof copy);
  file_.reset();
}

}  // namespace ringcomm::inline v0::diag
