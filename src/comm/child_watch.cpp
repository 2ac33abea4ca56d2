// SPDX-License-Identifier: Apache-2.0
#include "comm/child_watch.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::comm {
namespace {

constexpr std::int64_t kGraceNs = std::chrono::nanoseconds(ChildWatch::kGrace).count();
constexpr int kPollMilliseconds = 100;

struct Report {
  int rank;
  StatusCode code;
  std::array<char, 1024> text;
};
static_assert(sizeof(Report) <= PIPE_BUF);

int open_pidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

}  // namespace

void write_report(int pipe_fd, int rank, const Status& status) {
  Report report{};
  report.rank = rank;
  report.code = status.code();
  const std::string_view text = status.message().substr(0, report.text.size() - 1);
  std::copy(text.begin(), text.end(), report.text.begin());
  while (write(pipe_fd, &report, sizeof report) < 0 && errno == EINTR) continue;
}

HeldSignals::HeldSignals() {
  sigemptyset(&held_);
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) sigaddset(&held_, number);
  }
  pthread_sigmask(SIG_BLOCK, &held_, &before_);
  fd_ = signalfd(-1, &held_, SFD_CLOEXEC | SFD_NONBLOCK);
}

HeldSignals::~HeldSignals() {
  if (fd_ >= 0) close(fd_);
  restore_mask();
  if (taken_ != 0) raise(taken_);
}

void HeldSignals::restore_mask() const { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

int HeldSignals::take() {
  signalfd_siginfo info{};
  if (read(fd_, &info, sizeof info) == static_cast<ssize_t>(sizeof info))
    taken_ = static_cast<int>(info.ssi_signo);
  return taken_;
}

ChildWatch::~ChildWatch() {
  kill_all();
  for (const Child& child : children_) {
    if (child.pidfd >= 0) close(child.pidfd);
  }
  close(report_fd_);
}

void ChildWatch::add(pid_t pid) {
  children_.push_back({pid, -1, true});
  has_reported_.push_back(false);
}

bool ChildWatch::is_any_running() const { return std::ranges::any_of(children_, &Child::is_running); }

void ChildWatch::keep_first(int rank, const Status& status) {
  if (first_.is_ok()) first_ = Status(status.code(), concat("rank ", rank, ": ", status.message()));
}

void ChildWatch::kill_all() {
  for (Child& child : children_) {
    if (!child.is_running) continue;
    kill(child.pid, SIGKILL);
    while (waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) continue;
    child.is_running = false;
  }
}

void ChildWatch::reap_ended() {
  for (std::size_t rank = 0; rank < children_.size(); ++rank) {
    Child& child = children_[rank];
    int state = 0;
    if (!child.is_running || waitpid(child.pid, &state, WNOHANG) != child.pid) continue;
    child.is_running = false;
    if (WIFSIGNALED(state)) {
      // Whoever was killed is the cause, also when another rank's report about it was read first.
      if (first_.is_ok() || first_.code() == StatusCode::peer_lost)
        first_ = Status::peer_lost(concat("rank ", rank, " was killed by signal ", WTERMSIG(state)));
    } else if (WEXITSTATUS(state) != 0) {
      read_reports();
      if (!has_reported_[rank]) {
        keep_first(static_cast<int>(rank),
                   Status::peer_lost(concat("exited with code ", WEXITSTATUS(state), " inside its body")));
      }
    }
  }
}

void ChildWatch::read_reports() {
  Report report{};
  while (read(report_fd_, &report, sizeof report) == static_cast<ssize_t>(sizeof report)) {
    report.text.back() = '\0';
    if (report.rank >= 0 && static_cast<std::size_t>(report.rank) < has_reported_.size())
      has_reported_[static_cast<std::size_t>(report.rank)] = true;
    keep_first(report.rank, Status(report.code, report.text.data()));
  }
}

Status ChildWatch::wait_all(HeldSignals& signals) {
  std::int64_t failed_ns = 0;
  std::vector<pollfd> polled{{report_fd_, POLLIN, 0}, {signals.fd(), POLLIN, 0}};
  for (Child& child : children_) {
    child.pidfd = open_pidfd(child.pid);
    polled.push_back({child.pidfd, POLLIN, 0});  // poll() ignores a negative descriptor
  }
  while (is_any_running()) {
    poll(polled.data(), polled.size(), kPollMilliseconds);
    if (const int number = signals.take(); number != 0) {
      kill_all();
      return Status::aborted(concat("interrupted by signal ", number, "; all ranks were killed"));
    }
    reap_ended();
    read_reports();
    for (std::size_t i = 0; i < children_.size(); ++i) {
      if (!children_[i].is_running) polled[i + 2].fd = -1;
    }
    if (first_.is_ok()) continue;
    if (failed_ns == 0) failed_ns = now_ns();
    if (now_ns() - failed_ns > kGraceNs) kill_all();
  }
  read_reports();
  return first_;
}

}  // namespace ringcomm::inline v0::comm
