// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/device/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "device/host/fork_guard.hpp"
#include "device/host/memory_policy.hpp"
#include "ringcomm/core/limits.hpp"
#include "ringcomm/core/log.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace {

// Linux values that older C libraries lack.
constexpr int kPopulateWrite = 23;           // MADV_POPULATE_WRITE, Linux 5.14
constexpr unsigned kSealFutureWrite = 0x10;  // F_SEAL_FUTURE_WRITE, Linux 5.1

std::string reason(int error) { return std::system_category().message(error); }

std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

Result<std::size_t> whole_pages(std::size_t bytes) {
  const std::size_t page = page_bytes();
  if (bytes > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) - page) {
    return Status::invalid_argument(
        concat("segment of ", bytes, " bytes (no address space is that large). Did a size overflow?"));
  }
  return bytes == 0 ? page : (bytes + page - 1) / page * page;
}

Result<int> make_memfd(const std::string& name, std::size_t bytes) {
  const int fd = memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) {
    return Status::not_available(concat("memfd_create for ", format_bytes(bytes), " failed: ", reason(errno),
                                        " (peers could not map this memory)"));
  }
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    const int error = errno;
    close(fd);
    return Status::out_of_memory(
        concat("memfd could not be sized to ", format_bytes(bytes), ": ", reason(error)));
  }
  return fd;
}

// MADV_POPULATE_WRITE answers with an error where a plain touch would be SIGBUS; older kernels lack it.
Status prefault(std::byte* data, std::size_t bytes) {
  if (madvise(data, bytes, kPopulateWrite) == 0) return {};
  if (errno != EINVAL) {
    return Status::out_of_memory(
        concat("segment of ", format_bytes(bytes), " could not be filled with pages: ", reason(errno)));
  }
  for (std::size_t offset = 0; offset < bytes; offset += page_bytes()) {
    static_cast<volatile std::byte*>(data)[offset] = std::byte{0};
  }
  return {};
}

// Only after the writable mapping exists: F_SEAL_FUTURE_WRITE refuses the next one.
Status seal(int fd) {
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | kSealFutureWrite | F_SEAL_SEAL) == 0) return {};
  return Status::not_available(concat("memfd could not be sealed: ", reason(errno),
                                      " (peers must be sure that it never shrinks; needs Linux 5.1)"));
}

// mlock2, because the sanitizers replace mlock by nothing.
bool pin_pages(const std::byte* data, std::size_t bytes, const Limits& limits) {
  if (mlock2(data, bytes, 0) == 0) return true;
  const int error = errno;
  const std::string limit = limits.locked_bytes ? format_bytes(*limits.locked_bytes) : "none";
  log(LogLevel::info, concat("not pinned: ", format_bytes(bytes), " (mlock: ", reason(error),
                             "; RLIMIT_MEMLOCK ", limit, ")"));
  return false;
}

Status check_sealed(int fd, std::size_t bytes) {
  struct stat info {};
  if (fstat(fd, &info) != 0) {
    return Status::invalid_argument(concat("segment's descriptor ", fd, ": ", reason(errno)));
  }
  if (info.st_size < 0 || static_cast<std::size_t>(info.st_size) < bytes) {
    return Status::corrupt_data(concat("peer's segment holds ", info.st_size, " bytes, but ", bytes,
                                       " were announced (reading past its end would be a signal)"));
  }
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return Status::corrupt_data(concat("peer's segment of ", bytes,
                                       " bytes is not sealed against shrinking (its owner could kill "
                                       "this process with a signal). Is it a memfd with F_SEAL_SHRINK?"));
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<Segment>> Segment::create(const SegmentOptions& options) {
  auto rounded = whole_pages(options.bytes);
  if (!rounded.is_ok()) return rounded.status();
  const std::size_t bytes = rounded.value();
  const Limits limits = read_limits();
  const bool is_shareable = options.kind == SegmentKind::shareable;
  Status fits = check_fits(limits, bytes, is_shareable ? MemoryUse::memfd : MemoryUse::plain,
                           concat("segment \"", options.name, "\""));
  if (!fits.is_ok()) return fits;

  std::shared_ptr<Segment> segment(new Segment);
  if (is_shareable) {
    auto fd = make_memfd(options.name, bytes);
    if (!fd.is_ok()) return fd.status();
    segment->fd_ = fd.value();
  }
  const int flags = is_shareable ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, segment->fd_, 0);
  if (data == MAP_FAILED) {
    return Status::out_of_memory(concat("segment \"", options.name, "\" of ", format_bytes(bytes),
                                        " could not be mapped: ", reason(errno)));
  }
  segment->data_ = static_cast<std::byte*>(data);
  segment->bytes_ = bytes;
  prefer_memory_node(data, bytes, options.memory_node);
  Status status = prefault(segment->data_, bytes);
  if (status.is_ok() && is_shareable) status = seal(segment->fd_);
  if (!status.is_ok()) return status;
  if (options.pin) segment->is_pinned_ = pin_pages(segment->data_, bytes, limits);
  return segment;
}

Result<std::shared_ptr<Segment>> Segment::map_read_only(int fd, std::size_t bytes) {
  if (fd < 0) return Status::invalid_argument(concat("descriptor ", fd, " of a peer's segment is not valid"));
  std::shared_ptr<Segment> segment(new Segment);
  segment->fd_ = fd;
  auto rounded = whole_pages(bytes);
  if (!rounded.is_ok()) return rounded.status();
  Status sealed = check_sealed(fd, bytes);
  if (!sealed.is_ok()) return sealed;
  void* data = mmap(nullptr, rounded.value(), PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (data == MAP_FAILED) {
    return Status::out_of_memory(
        concat("peer's segment of ", format_bytes(bytes), " could not be mapped: ", reason(errno)));
  }
  segment->data_ = static_cast<std::byte*>(data);
  segment->bytes_ = rounded.value();
  return segment;
}

std::shared_ptr<Segment> Segment::adopt(std::byte* data, std::size_t bytes, std::function<void()> release) {
  std::shared_ptr<Segment> segment(new Segment);
  segment->data_ = data;
  segment->bytes_ = bytes;
  segment->release_ = std::move(release);
  return segment;
}

Segment::~Segment() {
  if (release_) {
    release_();
    return;
  }
  const bool is_unmapped_here = is_excluded_from_fork_ && fork_generation_ != fork_generation();
  if (data_ != nullptr && !is_unmapped_here) munmap(data_, bytes_);
  if (fd_ >= 0) close(fd_);
}

bool Segment::contains(const void* address, std::size_t bytes) const {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const auto base = reinterpret_cast<std::uintptr_t>(data_);
  return first >= base && first - base <= bytes_ && bytes <= bytes_ - (first - base);
}

Status Segment::exclude_from_fork() {
  fork_generation_ = fork_generation();
  if (madvise(data_, bytes_, MADV_DONTFORK) != 0) {
    return Status::not_available(concat("segment of ", format_bytes(bytes_),
                                        " could not be hidden from forked children: ", reason(errno)));
  }
  is_excluded_from_fork_ = true;
  return {};
}

}  // namespace ringcomm::inline v0
