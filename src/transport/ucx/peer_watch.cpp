// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/peer_watch.hpp"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::transport::ucx {
namespace {

std::string errno_text() { return std::generic_category().message(errno); }

}  // namespace

PeerWatch::~PeerWatch() {
  for (const int process : processes_) {
    if (process >= 0) ::close(process);
  }
  if (epoll_ >= 0) ::close(epoll_);
}

Status PeerWatch::open() {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  return epoll_ >= 0 ? Status() : Status::not_available(concat("ucx: epoll_create1 failed: ", errno_text()));
}

Status PeerWatch::watch(int rank, int pid) {
  const auto index = static_cast<std::size_t>(rank);
  if (index >= processes_.size()) processes_.resize(index + 1, -1);
  if (pid == ::getpid()) return {};
  // glibc 2.36 declares pidfd_open without extern "C".
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (process < 0 && errno == ESRCH)
    return Status::peer_lost(concat("rank ", rank, " (pid ", pid, ") died while the ranks connected"));
  if (process < 0) {
    return Status::not_available(
        concat("ucx: watching rank ", rank, " (pid ", pid, ") failed: ", errno_text()));
  }
  processes_[index] = process;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = static_cast<std::uint32_t>(rank);
  if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, process, &event) == 0) return {};
  return Status::not_available(concat("ucx: epoll_ctl failed: ", errno_text()));
}

std::optional<int> PeerWatch::find_ended() {
  epoll_event event{};
  if (epoll_ < 0 || ::epoll_wait(epoll_, &event, 1, 0) != 1) return std::nullopt;
  const int rank = static_cast<int>(event.data.u32);
  ::close(std::exchange(processes_[static_cast<std::size_t>(rank)], -1));  // also leaves the epoll set
  return rank;
}

}  // namespace ringcomm::inline v0::transport::ucx
