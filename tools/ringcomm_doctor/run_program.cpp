// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "ringcomm/core/text.hpp"
#include "selftest.hpp"

extern char** environ;

namespace ringcomm::doctor {
namespace {

Status outcome(int status, const std::string& name) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  if (WIFSIGNALED(status)) return Status::internal(concat(name, " was killed by signal ", WTERMSIG(status)));
  return Status::internal(concat(name, " exited with ", WEXITSTATUS(status)));
}

}  // namespace

Status run_program(const std::vector<std::string>& words, int timeout_s) {
  std::vector<char*> arguments;
  for (const std::string& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));  // as exec wants it
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Status::not_found(concat("cannot start ", words[0], ": ", std::strerror(error)));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(timeout_s);
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      ::kill(child, SIGKILL);
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
      }
      return Status::timeout(concat(words[0], " did not end within ", timeout_s, " s"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return outcome(status, words[0]);
}

}  // namespace ringcomm::doctor
