// SPDX-License-Identifier: Apache-2.0
// From an identity to a mapped file: folder by folder, smaller and smaller, until one fits.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/try.hpp"
#include "diag/record/crc32.hpp"
#include "diag/record/record_file.hpp"
#include "diag/record/record_folder.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/version.hpp"

namespace ringcomm::inline v0::diag {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint32_t kChannels = 128;
constexpr std::uint32_t kMembersMin = 2048;
constexpr int kCopiesMax = 64;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

template <std::size_t N>
void copy_text(char (&to)[N], std::string_view text) {
  std::memcpy(to, text.data(), std::min(text.size(), N - 1));
}

std::string host_name() {
  std::string name(256, '\0');
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.c_str();
}

void identify(RecordHeader& header, const RecordIdentity& identity) {
  std::memcpy(header.magic, kRecordMagic.data(), sizeof header.magic);
  header.job = identity.job;
  header.communicator = identity.communicator;
  header.rank = identity.rank;
  header.size = identity.size;
  header.world_rank = identity.world_rank;
  header.world_size = identity.world_size;
  header.pid = static_cast<std::uint32_t>(::getpid());
  const TickClock& clock = TickClock::of_process();
  const Moment now = moment_of(clock);
  header.clock_ticks = now.ticks;
  header.clock_realtime_ns = now.realtime_ns;
  header.clock_monotonic_ns = now.monotonic_ns;
  header.ns_per_tick = clock.ns_per_tick;
  copy_text(header.host, host_name());
  copy_text(header.transport, identity.transport);
  copy_text(header.library, RINGCOMM_VERSION);
  header.checksum = crc32(
      std::as_bytes(std::span(reinterpret_cast<const char*>(&header), offsetof(RecordHeader, checksum))));
  header.state = static_cast<std::uint32_t>(RecordState::open);
  header.names_used = 1;
  header.failure_culprit = -1;
}

/// The error for which a file of so many bytes cannot be had, or 0. A file above the limit is a signal, not
/// an error; half of what is free is left to others.
int error_of_size(int folder, std::uint64_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && bytes > limit.rlim_cur)
    return EFBIG;
  struct statvfs facts {};
  const bool is_limited = ::fstatvfs(folder, &facts) == 0 && facts.f_blocks != 0;  // 0: a tmpfs of any size
  if (is_limited && bytes > facts.f_bavail * facts.f_frsize / 2) return ENOSPC;
  return 0;
}

/// Waits while somebody probes the lock. False: whoever trims the folder took the file for a dead one before
/// it was locked.
bool is_locked_in_time(int file) {
  while (::flock(file, LOCK_EX) != 0 && errno == EINTR) {
  }
  struct stat facts {};
  return ::fstat(file, &facts) != 0 || facts.st_nlink != 0;
}

/// A new, locked, owner-only file of `bytes` bytes that are really there (a hole would be a SIGBUS later).
Result<OwnedFd> make_file(int folder, RecordName& name, std::uint64_t bytes) {
  OwnedFd file;
  for (; name.copy < kCopiesMax; ++name.copy) {
    constexpr int kFlags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    file = OwnedFd(::openat(folder, to_name(name).c_str(), kFlags, S_IRUSR | S_IWUSR));
    if (file ? is_locked_in_time(file.get()) : errno != EEXIST) break;
  }
  if (!file) return Status::not_available(std::strerror(errno));
  int error = ::fchmod(file.get(), S_IRUSR | S_IWUSR) != 0 ? errno : 0;
  if (error == 0) {
    do {
      error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
    } while (error == EINTR);
  }
  if (error == 0) return file;
  ::unlinkat(folder, to_name(name).c_str(), 0);
  if (error == ENOSPC) return Status::out_of_memory(std::strerror(error));
  return Status::not_available(std::strerror(error));
}

void write_world_ranks(const RecordFile& file, const RecordIdentity& identity) {
  const auto size = static_cast<std::size_t>(identity.size);
  const bool is_known = identity.world_ranks.size() == size;
  const bool is_whole = identity.world_ranks.empty() && identity.size == identity.world_size;
  for (std::size_t i = 0; i < size; ++i) {
    const int same = is_whole ? static_cast<int>(i) : -1;
    put(file.members()[i], is_known ? identity.world_ranks[i] : same);
  }
  if (!is_known && !is_whole) put(file.members()[identity.rank], identity.world_rank);
  put(file.header().members_used, static_cast<std::uint32_t>(size));
}

}  // namespace

RecordHeader layout_of(std::uint32_t entries, int size) {
  RecordHeader header{};
  const bool is_small = entries < 1024;
  header.version = kRecordVersion;
  header.header_bytes = sizeof(RecordHeader);
  header.entry_bytes = sizeof(RecordEntry);
  header.entry_capacity = entries;
  header.channel_capacity = is_small ? kChannels / 8 : kChannels;
  const auto ranks = static_cast<std::uint32_t>(size);
  header.member_capacity = is_small ? 2 * ranks : std::max(8 * ranks, ranks + kMembersMin);
  header.name_capacity = is_small ? 2048 : 16384;
  header.plan_capacity = is_small ? 2048 : 32768;
  header.channels_offset = aligned(sizeof(RecordHeader));
  header.members_offset = aligned(header.channels_offset + header.channel_capacity * sizeof(ChannelRecord));
  header.names_offset = aligned(header.members_offset + header.member_capacity * sizeof(std::int32_t));
  header.plans_offset = aligned(header.names_offset + header.name_capacity);
  header.entries_offset = aligned(header.plans_offset + header.plan_capacity);
  header.file_bytes = header.entries_offset + std::uint64_t{entries} * sizeof(RecordEntry);
  return header;
}

std::unique_ptr<RecordFile> RecordFile::create(const RecordIdentity& identity, const RecorderOptions& options,
                                               std::string& where) {
  const std::uint32_t asked = std::bit_ceil(std::clamp(options.entries, kEntriesMin, kEntriesMax));
  std::string troubles;
  const auto trouble = [&](std::string_view text) {
    troubles += (troubles.empty() ? "" : "; ") + std::string(text);
  };
  const bool is_sane =
      identity.job != 0 && identity.size > 0 && identity.rank >= 0 && identity.rank < identity.size;
  if (!is_sane) trouble("the identity is none: no job, or a rank outside its communicator");
  for (const FolderChoice& choice : is_sane ? folder_choices(options.folder) : std::vector<FolderChoice>{}) {
    auto folder = open_folder(choice);
    if (!folder.is_ok()) {
      trouble(folder.status().message());
      continue;
    }
    trim_records(choice.path);
    for (std::uint32_t entries = asked; entries >= kEntriesMin; entries /= 2) {
      RecordHeader header = layout_of(entries, identity.size);
      RecordName name{identity.job, identity.communicator, ::getpid(), 0, identity.rank};
      const int error = error_of_size(folder->get(), header.file_bytes);
      auto file = error != 0 ? Result<OwnedFd>(Status::out_of_memory(std::strerror(error)))
                             : make_file(folder->get(), name, header.file_bytes);
      if (!file.is_ok()) {
        if (entries == asked) trouble(concat(choice.path.string(), ": ", file.status().message()));
        if (file.status().code() != StatusCode::out_of_memory) break;
        continue;
      }
      void* const bytes =
          ::mmap(nullptr, header.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->get(), 0);
      if (bytes == MAP_FAILED) {
        trouble(concat(choice.path.string(), ": ", std::strerror(errno)));
        ::unlinkat(folder->get(), to_name(name).c_str(), 0);
        break;
      }
      identify(header, identity);
      std::memcpy(bytes, &header, sizeof header);
      std::unique_ptr<RecordFile> record(new RecordFile(
          static_cast<std::byte*>(bytes), header, std::move(file).value(), choice.path / to_name(name)));
      write_world_ranks(*record, identity);
      remember_folder(choice.path);
      const std::string fewer = entries == asked ? std::string() : concat(" instead of ", asked);
      where = concat("recorder: ", record->path().string(), ", ", entries, " entries", fewer,
                     troubles.empty() ? "" : " (", troubles, troubles.empty() ? "" : ")");
      return record;
    }
  }
  where = concat("recorder: off (", troubles, ")");
  return nullptr;
}

}  // namespace ringcomm::inline v0::diag
