// SPDX-License-Identifier: Apache-2.0
#include "transport/shm/liveness.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/try.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::transport::shm {

Result<Liveness> Liveness::create() {
  Liveness liveness;
  liveness.epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (liveness.epoll_.is_open()) return liveness;
  return Status::not_available(concat("epoll_create1 failed: ", bootstrap::describe_errno(errno)));
}

Status Liveness::watch(int rank, int pid) {
  const auto index = static_cast<std::size_t>(rank);
  if (index >= processes_.size()) processes_.resize(index + 1);
  if (pid == ::getpid()) return {};
  auto process = bootstrap::open_pidfd(pid);
  if (process.status().code() == StatusCode::not_found) {
    return Status::peer_lost(concat("rank ", rank, " (pid ", pid, ") died while the ranks connected"));
  }
  if (!process.is_ok()) {
    return Status(process.status().code(), concat("rank ", rank, ": ", process.status().message()));
  }
  processes_[index] = std::move(process).value();
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = static_cast<std::uint32_t>(rank);
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, processes_[index].get(), &event) == 0) return {};
  return Status::not_available(concat("epoll_ctl failed: ", bootstrap::describe_errno(errno)));
}

std::optional<int> Liveness::find_ended() const {
  epoll_event event{};
  if (::epoll_wait(epoll_.get(), &event, 1, 0) != 1) return std::nullopt;
  return static_cast<int>(event.data.u32);
}

void Liveness::forget(int rank) const {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, processes_[static_cast<std::size_t>(rank)].get(), nullptr);
}

}  // namespace ringcomm::inline v0::transport::shm
