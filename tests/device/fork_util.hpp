// SPDX-License-Identifier: Apache-2.0
// Runs a claim in a forked child within a bounded time, for what only a fork or a death can show.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace ringcomm {

/// The wait status of a child that ran `body` and exited with its value; a child still alive after `limit` is
/// killed (so its status shows SIGKILL).
template <class Body>
int status_of_child(Body body, std::chrono::seconds limit = std::chrono::seconds(20)) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  const auto end = std::chrono::steady_clock::now() + limit;
  int status = -1;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return status;
}

/// The exit code of such a child, or -1 when a signal ended it.
template <class Body>
int exit_code_of_child(Body body) {
  const int status = status_of_child(body);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace ringcomm
