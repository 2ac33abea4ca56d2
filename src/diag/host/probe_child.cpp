// SPDX-License-Identifier: Apache-2.0
#include "diag/host/probe_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0::diag {
namespace {

/// The child's verdict travels over a pipe of its own, so that a side may use the socket as it likes.
[[noreturn]] void run_child(int socket, int verdict, const ProbeSide& child) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string why = child(socket);
  const ssize_t written = why.empty() ? 0 : ::write(verdict, why.data(), why.size());
  ::_exit(why.empty() ? 0 : written > 0 ? 1 : 2);
}

std::string read_all(int fd) {
  std::array<char, 512> text{};
  const ssize_t got = ::read(fd, text.data(), text.size());
  return {text.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

std::string outcome(pid_t child, int verdict, std::chrono::milliseconds deadline) {
  // The end of the pipe is the end of the child: it holds the only other writing end.
  const bool is_done = readable(verdict, deadline);
  if (!is_done) ::kill(child, SIGKILL);
  const std::string why = is_done ? read_all(verdict) : concat("no answer within ", deadline.count(), " ms");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!why.empty()) return why;
  if (WIFSIGNALED(status)) return concat("the child was killed by signal ", WTERMSIG(status), " (seccomp?)");
  return WEXITSTATUS(status) == 0 ? "" : concat("the child exited with ", WEXITSTATUS(status));
}

}  // namespace

bool readable(int fd, std::chrono::milliseconds deadline) {
  pollfd entry{fd, POLLIN, 0};
  int ready = 0;
  while ((ready = ::poll(&entry, 1, static_cast<int>(deadline.count()))) < 0 && errno == EINTR) {
  }
  return ready > 0;
}

std::string with_child(std::chrono::milliseconds deadline, const ProbeSide& child, const ProbeSide& parent) {
  std::array<int, 2> sockets{};
  std::array<int, 2> verdict{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()) != 0)
    return concat("socketpair failed: ", std::strerror(errno));
  if (::pipe2(verdict.data(), O_CLOEXEC) != 0) {
    ::close(sockets[0]);
    ::close(sockets[1]);
    return concat("pipe failed: ", std::strerror(errno));
  }
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(sockets[0]);
    ::close(verdict[0]);
    run_child(sockets[1], verdict[1], child);
  }
  ::close(sockets[1]);
  ::close(verdict[1]);
  std::string why;
  if (pid < 0) {
    why = concat("fork failed: ", std::strerror(errno));
  } else {
    why = parent(sockets[0]);
    if (!why.empty()) ::shutdown(sockets[0], SHUT_RDWR);  // the child need not wait for what will not come
    const std::string theirs = outcome(pid, verdict[0], deadline);
    if (why.empty()) why = theirs;
  }
  ::close(sockets[0]);
  ::close(verdict[0]);
  return why;
}

}  // namespace ringcomm::inline v0::diag
