// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/store_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::bootstrap {
namespace {

// Its presence says that the store made the directory, to whoever leaves last.
constexpr const char* kMadeByStore = ".ringcomm-store";
constexpr std::chrono::seconds kLeaveWait{2};

Status check_owner(int directory, const std::string& name) {
  struct stat info {};
  if (::fstat(directory, &info) != 0) {
    return Status::unreachable(concat("cannot read ", name, ": ", describe_errno(errno)));
  }
  if (info.st_uid != ::geteuid()) {
    return Status::invalid_argument(concat(name, " belongs to user ", info.st_uid, ", not to user ",
                                           ::geteuid(), " (others could pose as ranks)"));
  }
  if ((info.st_mode & 0022U) != 0) {
    constexpr std::string_view kDigits = "01234567";
    const unsigned mode = info.st_mode & 0777U;
    const std::string digits{kDigits[mode >> 6], kDigits[(mode >> 3) & 7U], kDigits[mode & 7U]};
    return Status::invalid_argument(
        concat(name, " has mode ", digits, " (others could pose as ranks). Try chmod 700?"));
  }
  return {};
}

bool address_of(const std::string& path, sockaddr_un& address) {
  if (path.size() >= sizeof(address.sun_path)) return false;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return true;
}

}  // namespace

/// flock(2) on the directory: claims and clean-ups of several processes go one after the other, and the lock
/// of a killed process is gone with it.
class StoreDirectory::Lock {
 public:
  Lock(int directory, Deadline deadline) : directory_(directory) {
    while (!(is_held_ = ::flock(directory_, LOCK_EX | LOCK_NB) == 0) && !deadline.is_expired()) {
      const timespec pause{0, 1'000'000};
      ::nanosleep(&pause, nullptr);
    }
  }
  ~Lock() {
    if (is_held_) ::flock(directory_, LOCK_UN);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  bool is_held() const { return is_held_; }

 private:
  int directory_;
  bool is_held_ = false;
};

Result<StoreDirectory> StoreDirectory::open(const std::filesystem::path& path) {
  StoreDirectory store;
  store.path_ = path.string();
  store.name_ = concat("file://", store.path_);
  if (!path.is_absolute()) {
    return Status::invalid_argument(concat("store directory \"", store.path_, "\" is not an absolute path"));
  }
  const bool was_made = ::mkdir(store.path_.c_str(), 0700) == 0;
  if (!was_made && errno != EEXIST) {
    return Status::invalid_argument(concat("cannot create ", store.name_, ": ", describe_errno(errno)));
  }
  store.directory_.reset(::open(store.path_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!store.directory_.is_open()) {
    if (errno == ENOENT) return Status::not_found(concat(store.name_, " was removed"));
    return Status::invalid_argument(concat("cannot open ", store.name_, ": ", describe_errno(errno)));
  }
  RINGCOMM_TRY(check_owner(store.directory_.get(), store.name_));
  RINGCOMM_TRY(store.mark_if_made(was_made));
  return store;
}

Status StoreDirectory::mark_if_made(bool was_made) const {
  if (!was_made) return {};
  const UniqueFd file(::openat(directory_.get(), kMadeByStore, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  if (file.is_open() || errno == ENOENT) return {};
  return Status::unreachable(concat("cannot write into ", name_, ": ", describe_errno(errno)));
}

Status StoreDirectory::claim(const RankEntry& entry, Deadline deadline) {
  const Lock lock(directory_.get(), deadline);
  if (!lock.is_held()) {
    return Status::timeout(concat(name_, " stays locked by another process (is a rank stopped?)"));
  }
  struct stat info {};
  if (::fstat(directory_.get(), &info) != 0 || info.st_nlink == 0) {
    return Status::not_found(concat(name_, " was removed"));
  }
  const std::string file = entry_file_name(entry.rank);
  RankEntry holder;
  const bool is_held = read_entry(file, holder);
  if (is_held && is_alive(holder)) {
    return Status::invalid_argument(concat("rank ", entry.rank, " of ", name_, " is taken by process ",
                                           holder.pid, " as well as by process ", entry.pid,
                                           ". Do two of them have the same RINGCOMM_RANK?"));
  }
  if (is_held) ::unlinkat(directory_.get(), socket_file_name(holder.nonce).c_str(), 0);
  ::unlinkat(directory_.get(), file.c_str(), 0);
  const UniqueFd out(
      ::openat(directory_.get(), file.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600));
  const std::string text = to_text(entry);
  if (out.is_open() && ::write(out.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return {};
  }
  const int code = errno;
  if (out.is_open()) ::unlinkat(directory_.get(), file.c_str(), 0);
  return Status::unreachable(
      concat("cannot write ", name_, "/", file, ": ", describe_errno(code), " Is the disk full?"));
}

bool StoreDirectory::read_entry(const std::string& file, RankEntry& entry) const {
  const UniqueFd in(::openat(directory_.get(), file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info {};
  if (!in.is_open() || ::fstat(in.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_uid != ::geteuid()) {
    return false;
  }
  std::array<char, kEntryBytesMax> text{};
  const ssize_t got = ::read(in.get(), text.data(), text.size());
  if (got <= 0) return false;
  const auto parsed = parse_entry({text.data(), static_cast<std::size_t>(got)});
  if (!parsed || entry_file_name(parsed->rank) != file) return false;
  entry = *parsed;
  return true;
}

std::vector<std::string> StoreDirectory::file_names() const {
  // A descriptor of its own: reading moves the position, and closedir() closes it.
  const int fd = ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fd >= 0 ? ::fdopendir(fd) : nullptr, ::closedir);
  std::vector<std::string> names;
  while (const dirent* item = stream ? ::readdir(stream.get()) : nullptr) names.emplace_back(item->d_name);
  return names;
}

std::vector<RankEntry> StoreDirectory::live_entries() const {
  std::vector<RankEntry> entries;
  for (const std::string& file : file_names()) {
    RankEntry entry;
    if (rank_in_file_name(file) >= 0 && read_entry(file, entry) && is_alive(entry)) entries.push_back(entry);
  }
  return entries;
}

void StoreDirectory::remove_entry_files(const RankEntry& entry) const {
  const std::string file = entry_file_name(entry.rank);
  RankEntry there;
  if (read_entry(file, there) && is_same(there.nonce, entry.nonce)) {
    ::unlinkat(directory_.get(), file.c_str(), 0);
  }
  ::unlinkat(directory_.get(), socket_file_name(entry.nonce).c_str(), 0);
}

void StoreDirectory::remove_dead_entries() const {
  for (const std::string& file : file_names()) {
    if (rank_in_file_name(file) < 0) continue;
    RankEntry entry;
    if (read_entry(file, entry) && is_alive(entry)) continue;
    ::unlinkat(directory_.get(), socket_file_name(entry.nonce).c_str(), 0);
    ::unlinkat(directory_.get(), file.c_str(), 0);
  }
}

void StoreDirectory::leave(const RankEntry& entry) {
  const Lock lock(directory_.get(), Deadline::after(kLeaveWait));
  remove_entry_files(entry);
  if (!lock.is_held()) return;
  remove_dead_entries();
  if (!live_entries().empty() || ::faccessat(directory_.get(), kMadeByStore, F_OK, 0) != 0) return;
  ::unlinkat(directory_.get(), kMadeByStore, 0);
  // By path, since a directory cannot be removed by descriptor; refused if anything is left in it.
  ::rmdir(path_.c_str());
}

std::string StoreDirectory::socket_path(const Nonce& nonce) const {
  return concat("/proc/self/fd/", directory_.get(), "/", socket_file_name(nonce));
}

Result<UniqueFd> StoreDirectory::listen(const Nonce& nonce, int backlog) const {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.is_open()) pass_credentials(socket.get());
  sockaddr_un address{};
  const std::string path = socket_path(nonce);
  if (!socket.is_open() || !address_of(path, address) ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(socket.get(), backlog) != 0) {
    const int code = errno;
    ::unlinkat(directory_.get(), socket_file_name(nonce).c_str(), 0);
    if (code == ENOENT) return Status::not_found(concat(name_, " was removed"));
    return Status::unreachable(concat("cannot listen in ", name_, ": ", describe_errno(code)));
  }
  ::fchmodat(directory_.get(), socket_file_name(nonce).c_str(), 0600, 0);
  return socket;
}

UniqueFd StoreDirectory::connect(const Nonce& nonce) const {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) return {};
  pass_credentials(socket.get());
  sockaddr_un address{};
  if (!address_of(socket_path(nonce), address)) return {};
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) return {};
  return socket;
}

}  // namespace ringcomm::inline v0::bootstrap
