// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

#include "comm/child_watch.hpp"
#include "comm/guard.hpp"
#include "core/try.hpp"
#include "ringcomm/comm/communicator.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/device/worker_team.hpp"

namespace ringcomm::inline v0 {
namespace {

constexpr int kProcessesMax = 256;

using Body = std::function<Status(Communicator&)>;

// A failure is reported before the peers hear of it, so that the pipe has the first failure first.
Status run_rank(ForkedMesh& mesh, int rank, const Body& body, const CommunicatorOptions& options,
                int report_fd) {
  return comm::guard("the body", [&]() -> Status {
    RINGCOMM_TRY_ASSIGN(auto bootstrap, mesh.take(rank));
    RINGCOMM_TRY_ASSIGN(auto communicator, Communicator::create(std::move(bootstrap), options));
    // Not being bound costs speed only.
    static_cast<void>(bind_this_thread(communicator.placement()).is_ok());
    Status status = comm::guard("the body", [&] { return body(communicator); });
    if (status.is_ok()) return {};
    comm::write_report(report_fd, rank, status);
    communicator.abort(status.message());
    return status;
  });
}

// The parent may have gone before prctl() took effect; then nobody would ever reap this child.
[[noreturn]] void be_child(ForkedMesh& mesh, int rank, const Body& body, const CommunicatorOptions& options,
                           pid_t parent, int report_fd) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_FAILURE);
  const Status status = run_rank(mesh, rank, body, options, report_fd);
  if (!status.is_ok()) comm::write_report(report_fd, rank, status);
  std::fflush(nullptr);
  _exit(status.is_ok() ? EXIT_SUCCESS : EXIT_FAILURE);
}

Status fork_and_wait(int ranks, const Body& body, const CommunicatorOptions& options) {
  RINGCOMM_TRY_ASSIGN(auto mesh, ForkedMesh::create(ranks));
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Status::not_available(concat("run_processes: no pipe: ", std::system_category().message(errno)));
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  comm::HeldSignals signals;
  comm::ChildWatch children(ends[0]);
  const pid_t parent = getpid();
  std::fflush(nullptr);  // else every child would print the parent's unwritten lines again
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      signals.restore_mask();
      be_child(mesh, rank, body, options, parent, ends[1]);
    }
    if (pid < 0) {
      const int error = errno;
      close(ends[1]);
      return Status::not_available(
          concat("run_processes: fork of rank ", rank, " failed: ", std::system_category().message(error)));
    }
    children.add(pid);
  }
  close(ends[1]);
  // The parent's copies of the sockets would keep a dead rank's connections open.
  { const ForkedMesh closed = std::move(mesh); }
  return children.wait_all(signals);
}

}  // namespace

Status run_processes(int ranks, const std::function<Status(Communicator&)>& body,
                     const CommunicatorOptions& options) {
  if (ranks < 1 || ranks > kProcessesMax) {
    return Status::invalid_argument(
        concat("run_processes of ", ranks, " ranks (1 to ", kProcessesMax, " are possible)"));
  }
  return comm::guard("run_processes", [&] { return fork_and_wait(ranks, body, options); });
}

}  // namespace ringcomm::inline v0
